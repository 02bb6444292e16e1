"""The Jupyter extension: `%load_ext kvlab` turns on kvlab's theme, Altair's offline widgets, trees of live objects and `%%kvlab_trace`.

Importing kvlab changes nothing global; this is where the change happens, and `%unload_ext kvlab` takes it back.
"""

from __future__ import annotations

from typing import Any


def load_ipython_extension(ip: Any) -> None:
    """Turn it on; IPython calls this for `%load_ext kvlab`. `ip` is its shell; None turns on theme and widgets only.

    Example:
        >>> import kvlab
        >>> kvlab.load_ipython_extension(None)
        >>> kvlab.notebook.unload_ipython_extension(None)
    """
    from kvlab.views import live

    live.turn_on()
    if ip is not None:
        from kvlab.views.magic import turn_on

        turn_on(ip)


def unload_ipython_extension(ip: Any) -> None:
    """Turn it off again; IPython calls this for `%unload_ext kvlab`."""
    from kvlab.views import live

    live.turn_off()
    if ip is not None:
        from kvlab.views.magic import turn_off

        turn_off(ip)
