"""The prefix cache: sessions, captures, eviction, and the reasons behind a hit."""

from kvlab.cache.captures import capture_offsets
from kvlab.cache.prefix import PrefixCache
from kvlab.cache.session import Session

__all__ = ["PrefixCache", "Session", "capture_offsets"]
