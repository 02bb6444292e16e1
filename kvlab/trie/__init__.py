"""The prefix trie: compressed edges of token keys, matched at the speed of comparing bytes."""

from kvlab.trie.keys import WIDTH, to_keys, width_of
from kvlab.trie.node import Node
from kvlab.trie.trie import Match, Trie, descend

__all__ = ["WIDTH", "Match", "Node", "Trie", "descend", "to_keys", "width_of"]
