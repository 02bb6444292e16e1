"""The records that an Ollama server and its MLX runner write, from v0.18.3 on: their messages, and which method of `ollama_records.Records` reads each.

A record without a method is known and has no figures that a table takes. Source: the format strings of the public repository (both
spellings of the prefix cache's records: `kv cache` up to v0.31.2, `prefix cache` after).
"""

from __future__ import annotations

READ: dict[str, str] = {
    "cache hit": "hit",
    "cache miss": "hit",
    "Prompt processing progress": "progress",
    "mlx prompt forward": "forward",
    "mlx decode seed": "decode_forward",
    "mlx decode first token": "decode_forward",
    "created snapshot": "created",
    "page in: ": "page_in",
    "page out: ": "page_out",
    "failed to restore cache, freeing all caches": "free_all",
    "evicting leaf": "evict_leaf",
    "evicting interior node": "evict_interior",
    "prefix cache active_tokens: ": "totals",
    "kv cache active_tokens: ": "totals",
    "tensors total: ": "tensors",
    "cache trie: ": "dump_begins",
    "peak memory": "peak",
    "memory peak=": "memory",
    "Request terminated": "terminated",
    "Configured MLX wired memory": "wired",
    "starting mlx runner subprocess": "starting",
    "Starting HTTP server": "serving",
    "mlx runner is ready": "ready",
    "finished setting up": "loaded",
    "stopping mlx runner subprocess": "stopping",
    "runner with non-zero duration has gone idle, adding timer": "idle",
    "runner expired event received": "expired",
    "got lock to unload expired event": "unloading",
    "triggering expiration for failed load": "load_failed",
    "system memory": "system",
    "Listening on ": "listening",
    "server config": "config",
}
"""Messages (or how they begin) whose figures are read, with the method that reads them."""

DUMP_LINES = ("  `-- [", "  |-- [", "      `", "      |", "  |   `", "  |   |", "       ", "  |    ")
"""How the messages of a dump's nodes begin: two spaces, four letters a level, a connector."""

SILENT = ("tensor ", "(*RotatingKVCache)", "ServeHTTP")
"""Messages that come by the thousand and are counted only. `ServeHTTP` tells of calls between server and runner; the server's own calls are `[GIN]` lines."""

KNOWN = (
    "switching cache path",
    "speculative decode stats",
    "MLX engine initialized",
    "Loaded tensors from manifest",
    "Loaded draft model",
    "MLX model exceeds the recommended working set",
    "using cached MLX memory status",
    "failed to refresh MLX memory status",
    "snapshot skipped: cacheOffset is behind frontier",
    "attachSnapshots skipped: node is not the active frontier",
    "loading first model",
    "new model fits with existing models, loading",
    "reloading",
    "max runners achieved, unloading one to make room",
    "resetting model to expire immediately to make room",
    "waiting for pending requests to complete and unload to occur",
    "unload completed",
    "context for request finished",
    "runner with zero duration has gone idle, expiring to unload",
    "after processing request finished event",
    "timer expired, expiring to unload",
    "starting background wait for VRAM recovery",
    "no need to wait for VRAM recovery",
    "runner terminated and removed from list, blocking for VRAM recovery",
    "sending an unloaded event",
    "found an idle runner to unload",
    "gpu memory",
    "updated VRAM based on existing loaded models",
    "loaded runners",
    "model is too large for system memory",
    "Load failed",
    "evicting all other loaded models for OOM retry",
    "predicted usage exceeds VRAM",
    "runtime OOM detected",
    "model was still loaded",
    "error loading llama server",
    "finished request signal received after model unloaded",
    "total blobs: ",
    "total unused blobs removed: ",
    "entering low vram mode",
    "inference compute",
    "discovering available GPUs",
    "Dynamic LLM libraries",
    "starting runner",
    "starting llama server",
    "waiting for llama runner to start responding",
    "waiting for server to become available",
    "llama runner started",
    "server error",
)
"""Messages that are known. One at level WARN or ERROR becomes a warning with its error."""


def begin_of(message: str) -> bytes:
    """Return how a message that begins so is printed, up to where this beginning ends."""
    return (message if is_plain(message.removesuffix("=").replace(" ", "") if message.endswith("=") else message) else f'"{message}').encode()


def key(message: str) -> bytes:
    """Return the first eight bytes of a message as a log prints it."""
    return begin_of(message)[:8]


def is_plain(text: str) -> bool:
    """Return whether a value is printed as it is, not in quotes."""
    return text != "" and all(letter.isprintable() and letter not in ' ="' for letter in text)


def printed(text: str) -> str:
    """Return a value as a record prints it: in quotes unless it is one plain word."""
    return text if is_plain(text) else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
