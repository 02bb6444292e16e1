"""Layer kinds: the rules of each kind once, the contents in one of two storages (`mlx`, `spans`)."""

from kvlab.layers.book import Book
from kvlab.layers.kinds import layers_for
from kvlab.layers.kv import KVLayers
from kvlab.layers.layer import Layer
from kvlab.layers.snapshot import Snapshot
from kvlab.layers.storage import Store
from kvlab.shape import KV_KINDS

__all__ = ["KV_KINDS", "Book", "KVLayers", "Layer", "Snapshot", "Store", "layers_for"]
