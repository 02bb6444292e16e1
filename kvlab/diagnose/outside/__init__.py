"""Verdicts on what is seen from outside: a server's figures and the counts of its requests, without its trie.

`requests_told` makes requests again of their counts, `series_seen` reads the figures, `explained` says what a lawful cache explains of them.
"""

from __future__ import annotations

from kvlab.diagnose.outside.explained import Explained, explained
from kvlab.diagnose.outside.from_recording import from_outside
from kvlab.diagnose.outside.judged import judged
from kvlab.diagnose.outside.requests_told import Told, requests_of
from kvlab.diagnose.outside.series_seen import Seen, series_seen
from kvlab.diagnose.outside.told_twin import ToldTwin, told_twin

__all__ = ["Explained", "Seen", "Told", "ToldTwin", "explained", "from_outside", "judged", "requests_of", "series_seen", "told_twin"]
