"""One display hook on floor 0: rich objects answer `_repr_mimebundle_` through it, and views are loaded by name on first use.

This is the one place where a lower floor names a higher one; it does so by text, so nothing is imported until something is shown.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

RENDERERS = "kvlab.views.mimebundle"
"""The module whose `mimebundle(obj)` returns an object's {mime type: data}: text, PNG and, where it fits, a widget."""


class Rich:
    """A base for objects that show themselves in a notebook."""

    __slots__ = ()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle: dict[str, Any] = import_module(RENDERERS).mimebundle(self)
        return bundle
