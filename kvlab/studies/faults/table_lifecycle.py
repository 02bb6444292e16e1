"""The catalogue, part C: a server's life, and what is mlx-lm's own. Facts are those of the public study (`data/SOURCES.md`) and of mlx-lm's source."""

from __future__ import annotations

from kvlab.studies.faults.fault import ANY, DOCUMENTED, LIFECYCLE, Fault

_SERVER = "decided by a server's scheduler before and after the cache lives; the engine holds one model and does not ask"

LIFE: tuple[Fault, ...] = (
    Fault(
        "F-30",
        "fit check ignores other applications",
        "a second model is loaded beside others' bytes and the machine swaps",
        (),
        "until September 2026",
        LIFECYCLE,
        issue="ollama#18345",
        field="fit",
        fault="working_set",
        cure="system_bound",
        reason=_SERVER,
    ),
    Fault(
        "F-31",
        "close does not wait for the process to end",
        "the next load starts while the old process still holds its bytes; `ollama stop` says done and 18 GB stay",
        (),
        "until September 2026",
        LIFECYCLE,
        issue="ollama#17792",
        field="close",
        fault="signal",
        cure="reap",
        reason=_SERVER,
    ),
    Fault("F-32", "exit signal taken by the first receiver", "the second waiter blocks", (), "before 0.18.3", LIFECYCLE, reason=_SERVER),
    Fault("F-33", "log deadlock", "a line over 64 KiB stops the reader, the pipe fills, the runner hangs", (), "before 0.18.3", LIFECYCLE, reason=_SERVER),
    Fault("F-34", "status blocked behind a prefill", "a long prefill makes the model look unhealthy", (), "before 0.23.3", LIFECYCLE, reason=_SERVER),
    Fault(
        "F-35", "load timeout fixed at two minutes", "a slow load is killed", (), "before its cure in 07-2026", LIFECYCLE, issue="ollama#17157", reason=_SERVER
    ),
    Fault("F-36", "untagged unload events", "one runner's unload wakes another's waiter", (), "open", LIFECYCLE, issue="ollama#17309", reason=_SERVER),
    Fault("F-37", "reload asked of an unloaded runner", "a crash in a race", (), "open", LIFECYCLE, reason=_SERVER),
    Fault(
        "F-38",
        "imbalanced unpin",
        "a negative count of pins panics",
        (),
        "guarded since 0.18.3",
        DOCUMENTED,
        reason="kvlab counts no references: what a scope holds ends with it, and using it later is an error",
    ),
)
"""Entries F-30 to F-38."""

_OWN = "mlx-lm's own prompt cache, shown as installed beside kvlab's trie; its whole entries are no rule of this engine"

MLX_LM: tuple[Fault, ...] = (
    Fault(
        "M-1",
        "entries are deep copies",
        "the first token after a hit copies the whole buffer",
        ANY,
        "mlx-lm 0.32",
        DOCUMENTED,
        issue="mlx-lm#1409",
        reason=_OWN,
    ),
    Fault("M-2", "eviction by insertion order", "an entry in use is evicted, one that nobody asks for stays", ANY, "mlx-lm 0.32", DOCUMENTED, reason=_OWN),
    Fault("M-3", "quadratic search", "looking for a longer entry copies the tail once for each of its tokens", ANY, "mlx-lm 0.32", DOCUMENTED, reason=_OWN),
    Fault("M-4", "a stored one-token prefix is never found", "a hit is answered as a miss", ANY, "mlx-lm 0.32", DOCUMENTED, reason=_OWN),
    Fault("M-5", "an exact hit leaves an empty prompt", "the same prompt again: there is nothing to sample from", ANY, "mlx-lm 0.32", DOCUMENTED, reason=_OWN),
)
"""What is mlx-lm's own."""
