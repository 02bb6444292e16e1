"""Tells whether a convolution's state keeps the whole input of its forward: read off the graph of the array before it is computed.

mlx-lm's recurrent layers store the last rows of their convolution's input. Some store a slice: a view, which keeps the input's whole buffer
alive. Some copy the rows out first: such a state keeps nothing else, whoever holds it.
"""

# pyright: standard
from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import mlx.core as mx

VIEWS = frozenset({"Slice", "Split"})
"""Names of MLX's primitives whose result shares the buffer of what they read, among those that cut rows out."""

_LABEL = re.compile(r'\{ (\d+) \[label ="(\w+)"')
_SOURCE = re.compile(r'^(\d+) -> "', re.MULTILINE)


def keeps_input(state: mx.array) -> bool:
    """Tell whether `state`, of [1, rows, channels] and not computed yet, is a view of its forward's input."""
    import mlx.core as mx

    graph = io.StringIO()
    mx.export_to_dot(graph, state)
    text = graph.getvalue()
    sources = _SOURCE.findall(text)
    # an array without a graph was computed before: nothing is known, and a view is what must be reckoned with
    return not sources or dict(_LABEL.findall(text))[sources[-1]] in VIEWS
