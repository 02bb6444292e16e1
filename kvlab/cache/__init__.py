"""The prefix cache: sessions, captures, eviction, and the reasons behind a hit."""

from kvlab.cache.cache import Cache
from kvlab.cache.captures import capture_offsets
from kvlab.cache.prefix import PrefixCache
from kvlab.cache.session import Session
from kvlab.cache.whole_entries import WholeEntries

STORES: dict[str, type[Cache]] = {"trie": PrefixCache, "whole_entry_lru": WholeEntries}
"""By name of the choice `store`: the cache."""

__all__ = ["STORES", "Cache", "PrefixCache", "Session", "WholeEntries", "capture_offsets"]
