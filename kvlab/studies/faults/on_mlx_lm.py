"""What is MLX's and mlx-lm's own, shown as installed: slices that keep their source, the graph of metadata, the prompt cache of whole entries.

No choice of the engine is involved. The cured arm is the way that frees the source, or kvlab's trie with the same prompts.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

from kvlab.events import BytesRead, Event
from kvlab.lab import Twin
from kvlab.policy import Policy
from kvlab.studies.faults.arms import Figures, Shown
from kvlab.studies.faults.models import hybrid_twin, kv_twin
from kvlab.studies.faults.trigger import sent
from kvlab.trie import Trie, to_keys
from kvlab.workloads import Request, Workload

CAPACITY, START, END = 4096, 128, 256
STEPS = 256
ENTRY_TOKENS = 1000
TAILS = (100, 200)

OWN, TRIE = "mlx-lm's LRUPromptCache and kvlab's trie", "the trie"


def slices() -> Shown:
    """Show which copies of 128 slots of 4,096 keep the whole buffer alive."""
    from kvlab.studies.faults.arrays import kept_by_copies

    found = kept_by_copies(CAPACITY, START, END)
    kept = {way: {"slice_bytes": found[way][0], "kept_alive_bytes": found[way][1]} for way in ("slice", "mx.array(slice)")}
    others = {f"kept_alive_by_{way}_bytes": figures[1] for way, figures in found.items() if way not in kept}
    return _shown("F-02", "MLX arrays", kept["slice"], kept["mx.array(slice)"], "a slice of 128 slots of 4,096, held as it is and copied by mx.array", others)


def metadata() -> Shown:
    """Show the graph of a batch's metadata after 256 decode steps, as installed and evaluated at each step."""
    from kvlab.studies.faults.arrays import metadata_graph

    arms: list[Figures] = []
    for evaluated in (False, True):
        edges, grown = metadata_graph(STEPS, evaluated=evaluated)
        arms.append({"graph_edges": edges, "bytes_in_use_more_bytes": grown})
    return _shown("F-12b", "mlx-lm's ArraysCache", arms[0], arms[1], f"`lengths` of one batch after {STEPS} decode steps", {"steps": STEPS})


def deep_copies() -> Shown:
    """Show what the first append after a hit costs."""
    from kvlab.studies.faults.prompt_cache import bytes_of_the_first_append

    entry, hit, append = bytes_of_the_first_append(ENTRY_TOKENS)
    prompt = tuple(range(ENTRY_TOKENS))
    recording = Twin(kv_twin().shape).run(Workload("M-1", (sent(prompt), sent([*prompt, 9999]))), Policy(), progress=False)
    last = recording.rows(BytesRead).filter(request=2, source="spans")
    grown = last["live"][0] - recording.requests.item(0, "live")
    return _shown(
        "M-1",
        OWN,
        {"hit_bytes": hit, "first_append_bytes": append},
        {"hit_bytes": grown, "first_append_bytes": last["live"][-1] - recording.requests.item(0, "live")},
        "a hit on an entry of 1,000 tokens whose buffer has room, then one more token",
        {"entry_buffers_bytes": entry},
    )


def insertion_order() -> Shown:
    """Show which of two entries goes when a third one comes, the older having been used last."""
    from kvlab.studies.faults.prompt_cache import evicted_although_just_used

    first, second, third = [1, 2, 3], [4, 5, 6], [7, 8, 9]
    cached = _cached_by_the_trie([first, second, [*first, 9], third, [*first, 9, 9]], Policy(budget_bytes=7, capture_before_end=1))
    return _shown(
        "M-2",
        OWN,
        {"entry_just_used_was_evicted": evicted_although_just_used()},
        {"entry_just_used_was_evicted": cached == 0},
        "two entries, the older used last, then a third one where two have room",
    )


def quadratic_search() -> Shown:
    """Show how many tokens a search copies, for a tail and for one twice as long."""
    from kvlab.studies.faults.prompt_cache import numbers_copied_by_a_search

    copied = [numbers_copied_by_a_search(tail) for tail in TAILS]
    return _shown(
        "M-3",
        OWN,
        {f"tokens_copied_for_a_tail_of_{tail}": number for tail, number in zip(TAILS, copied, strict=True)},
        {f"allocated_at_most_for_a_tail_of_{tail}_bytes": _allocated_by_a_match(tail) for tail in TAILS},
        "one entry has a tail that the prompt does not; the trie compares the edge with the prompt and copies no token of it",
        {"grows_by": copied[1] / copied[0]},
    )


def one_token_prefix() -> Shown:
    """Show what is left to evaluate after a stored prefix of one token, on a layer that cannot be cut back."""
    from kvlab.studies.faults.prompt_cache import left_to_evaluate

    prompt = [1, 2, 3]
    roomy = Policy(budget_bytes=10**6, capture_before_end=1)
    left = [len(prompt) - _cached_by_the_trie([stored, prompt], roomy, hybrid_twin) for stored in ([1, 9], [1, 2, 9])]
    return _shown(
        "M-4",
        OWN,
        {"left_tokens": left_to_evaluate([1], prompt, state=True), "left_after_a_two_token_prefix_tokens": left_to_evaluate([1, 2], prompt, state=True)},
        {"left_tokens": left[0], "left_after_a_two_token_prefix_tokens": left[1]},
        "a prompt of three tokens after a stored prefix of one, on a recurrent layer",
    )


def exact_hit() -> Shown:
    """Show what is left to evaluate of a prompt that is stored whole."""
    from kvlab.studies.faults.prompt_cache import left_to_evaluate

    prompt = [1, 2, 3]
    cached = _cached_by_the_trie([[*prompt, 4], prompt], Policy(budget_bytes=10**6))
    return _shown(
        "M-5",
        OWN,
        {"left_tokens": left_to_evaluate(prompt, prompt)},
        {"left_tokens": len(prompt) - cached},
        "the same prompt again: nothing is left to sample from, where the trie always evaluates one token",
    )


def _unheard(event: Event) -> None:
    del event


def _allocated_by_a_match(tail: int) -> int:
    """Return the most bytes that Python allocates while kvlab's trie matches a prompt that leaves its only node after two tokens."""
    trie = Trie(_unheard)
    trie.append(trie.root, to_keys([1, 2, *range(10, 10 + tail)]))
    keys = to_keys([1, 2, 3])
    trie.match(keys)
    tracemalloc.start()
    trie.match(keys)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def _cached_by_the_trie(prompts: list[list[int]], policy: Policy, open_twin: Callable[[], Twin] = kv_twin) -> int:
    requests: tuple[Request, ...] = tuple(sent(prompt) for prompt in prompts)
    return int(open_twin().run(Workload("prompts", requests), policy, progress=False).requests["cached"][-1])


def _shown(fault: str, where: str, bad: Figures, good: Figures, look: str, more: Figures | None = None) -> Shown:
    return Shown.of(fault, where, look, [(None, bad, None), (None, good, None)], more)


SHOWS: dict[str, Callable[[], Shown]] = {
    "F-02": slices,
    "F-12b": metadata,
    "M-1": deep_copies,
    "M-2": insertion_order,
    "M-3": quadratic_search,
    "M-4": one_token_prefix,
    "M-5": exact_hit,
}
"""By id: what shows it."""
