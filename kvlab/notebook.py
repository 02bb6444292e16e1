"""The Jupyter extension: `%load_ext kvlab` turns on kvlab's theme and Altair's offline widgets.

Importing kvlab changes nothing global; this is where the change happens, and `%unload_ext kvlab` takes it back.
"""

from __future__ import annotations

from typing import Any


def load_ipython_extension(ip: Any) -> None:
    """Turn on the theme and the offline widgets; IPython calls this for `%load_ext kvlab`. `ip` is its shell, left as it is."""
    del ip
    from kvlab.views import live

    live.turn_on()


def unload_ipython_extension(ip: Any) -> None:
    """Turn them off again; IPython calls this for `%unload_ext kvlab`."""
    del ip
    from kvlab.views import live

    live.turn_off()
