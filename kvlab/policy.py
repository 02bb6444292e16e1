"""Policy: every historical behaviour of a prefix cache as a plain choice. Today's upstream main is the default.

The engine maps a choice's name to a small function; nothing in it checks for a version or a defect.
Source of the choices and of the version table: the public history of Ollama's MLX runner (see `data/SOURCES.md`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from kvlab.errors import BadValue
from kvlab.shape import Shape
from kvlab.units import GIB, LARGEST, parse_bytes

NEWEST_KNOWN = (0, 34)
"""Major and minor number of the newest releases whose rules are known: reports name them up to 0.34.2, and what main changed came after."""

Moment = Literal["begin", "attach", "page_out", "close", "prefill", "idle"]
EVICT_MOMENTS = frozenset[str](get_args(Moment))
"""The moments at which eviction may run."""

BOOLEANS = ("settle_draft", "clear_pool_after_load")
"""The choices that are true or false, and nothing else."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of a prefix cache, as names and numbers.

    Attributes:
        budget_bytes: Eviction runs while more than this many bytes are counted.
        budget_counts: What the budget sees: what the trie's snapshots count, or resident bytes: what live buffers and snapshots keep alive, pinned or not.
        evict_at: The moments at which eviction runs.
        evict_order: Which candidate goes first.
        protect: What eviction never takes.
        capture_grid: A capture is scheduled at every multiple of this many tokens.
        capture_before_end: And one this many tokens before the prompt's end; 0 for none.
        prefill_chunk: Tokens a prefill forward takes at most.
        settle_draft: A cancelled request settles its draft layers.
        draft_states: What a speculative round leaves of recurrent layers when a request closes: a state of its own, or a slice of all the round's states.
        clear_pool_after_load: The allocator's free buffers are given back once weights are loaded.
        store_segments: Of a prompt, what the store of whole entries keeps by itself: nothing, or what mlx-lm's server keeps (`kvlab.workloads.segments`).
        store_entries: Whole entries kept at most; 0 for no limit (mlx-lm's server keeps 10).
        fit: What a server counts as free before it loads a model. Serving alone follows it.
        close: What a server waits for when it unloads one. Serving alone follows it.
        release: The release that `ollama` was called with. It is no choice: equal choices are equal policies.

    Example:
        >>> import kvlab
        >>> older = kvlab.Policy.ollama("0.33.0")
        >>> older.diff(kvlab.Policy())["protect"]
        ('active_path', 'frontier_and_branches')
        >>> kvlab.Policy().replace(budget_bytes="2GiB").budget_bytes
        2147483648
    """

    budget_bytes: int = 8 * GIB
    budget_counts: Literal["paged_out", "resident"] = "paged_out"
    evict_at: frozenset[Moment] = field(default=frozenset({"begin", "attach", "page_out"}))
    evict_order: Literal["lru", "fifo", "lfu", "cost"] = "lru"
    protect: Literal["frontier_and_branches", "active_path"] = "frontier_and_branches"
    on_miss: Literal["keep", "prune"] = "keep"
    live_buffer: Literal["keep", "shrink"] = "keep"
    capture_at: Literal["grid", "message_ends"] = "grid"
    capture_grid: int = 8192
    capture_before_end: int = 4
    prefill_chunk: int = 2048
    snapshots: Literal["lazy", "eager"] = "lazy"
    capture_as: Literal["compact", "view"] = "compact"
    copy_before_overwrite: Literal["every_append", "first_append"] = "every_append"
    attach: Literal["clip_and_keep", "replace"] = "clip_and_keep"
    growth: Literal["child_nodes", "in_place"] = "child_nodes"
    page_out: Literal["at_close", "at_switch"] = "at_close"
    page_out_layers: Literal["missing", "all_or_none"] = "missing"
    mid_edge: Literal["split", "drop"] = "split"
    on_cancel: Literal["attach", "discard"] = "attach"
    settle_draft: bool = True
    draft_keys: Literal["pairs", "single"] = "pairs"
    draft_states: Literal["compact", "slices"] = "compact"
    media: Literal["whole_items", "anywhere"] = "whole_items"
    lifetimes: Literal["scopes", "sweep"] = "scopes"
    clear_pool_after_load: bool = True
    store: Literal["trie", "whole_entry_lru"] = "trie"
    store_segments: Literal["none", "server"] = "none"
    store_entries: int = 0
    fit: Literal["system_bound", "working_set"] = "system_bound"
    close: Literal["reap", "signal"] = "reap"
    release: str = field(default="main", compare=False, repr=False)

    def __post_init__(self) -> None:
        for name, names in (CHOICES | OF_A_SERVER).items():
            if getattr(self, name) not in names:
                raise _bad_choice(name, getattr(self, name), f"one of {', '.join(names)}")
        for name in BOOLEANS:
            if not isinstance(getattr(self, name), bool):
                raise _bad_choice(name, getattr(self, name), "true or false")
        if not isinstance(self.evict_at, frozenset | set):  # pyright: ignore[reportUnnecessaryIsInstance]  (a notebook does not check types)
            raise _bad_choice("evict_at", self.evict_at, 'a set of names, such as frozenset({"begin"})')
        if unknown := self.evict_at - EVICT_MOMENTS:
            raise _bad_choice("evict_at", sorted(unknown), f"a set of {', '.join(sorted(EVICT_MOMENTS))}")
        for name, least in (("budget_bytes", 0), ("capture_grid", 1), ("capture_before_end", 0), ("prefill_chunk", 1), ("store_entries", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise _bad_choice(name, value, f"a whole number of at least {least}")
            if value > LARGEST:
                raise _bad_choice(name, value, "at most 2^63 - 1")

    @classmethod
    def ollama(cls, version: str) -> Policy:
        """Return the behaviour of an Ollama release, such as `0.32.5`; `main` is today's upstream main.

        `scopes` is a state between 0.33.0 and main: array lifetimes by scopes, all else as 0.33.0 (`x/mlxrunner/mlx/scope.go` at a16fbbdb). Which
        release first behaved so is not known.

        Raises:
            BadValue: the text is no version, older than 0.30.7, where the table begins, or newer than `NEWEST_KNOWN`.
        """
        if version not in _STATES and _version_key(version)[:2] > NEWEST_KNOWN:
            raise BadValue(
                what=f"Ollama {version} is newer than the newest behaviour kvlab knows",
                why=f"the version table goes from 0.30.7 to the releases {NEWEST_KNOWN[0]}.{NEWEST_KNOWN[1]}.x",
                hint="use main: the rules of upstream's main branch as last read",
            )
        return cls(**_choices_of(version), release=version)

    @classmethod
    def of_server(cls, version: str) -> Policy:
        """Return the rules to judge a server's log by: as `ollama`, but a server newer than known is taken for the newest known.

        Raises:
            BadValue: the text is no version, or older than 0.30.7.
        """
        return cls(**_choices_of(version), release=version)

    @classmethod
    def kvlab(cls) -> Policy:
        """Return our own best choices: main, with eviction also when a request closes."""
        return cls(evict_at=frozenset({"begin", "attach", "page_out", "close"}))

    @classmethod
    def from_dict(cls, choices: dict[str, Any]) -> Policy:
        """Build a policy from names and values as JSON holds them; `version` is applied first, single choices on top.

        Raises:
            BadValue: a field is unknown or a value is not one of its choices.
        """
        return cls().amended(choices)

    def amended(self, choices: Mapping[str, Any]) -> Policy:
        """Return this policy with a case's or a workload's choices: a `version` first, keeping the prefill chunk, then single ones.

        Raises:
            BadValue: a field is unknown or a value is not one of its choices.
        """
        rest = dict(choices)
        version = rest.pop("version", None)
        base = self if version is None else Policy.ollama(str(version)).replace(prefill_chunk=self.prefill_chunk)
        return base.replace(**rest)

    def replace(self, **choices: Any) -> Policy:
        """Return this policy with some choices changed. Text is read as the field's type (`budget_bytes="8GiB"`)."""
        known = {*self.to_dict(), *OF_A_SERVER}
        for name in choices:
            if name not in known:
                raise BadValue(
                    what=f"a policy has no field {name!r}",
                    why=f"its fields are {', '.join(sorted(known))}",
                    hint="correct the name; `kvlab run --help` shows an example",
                )
        return dataclasses.replace(self, **{name: _typed(name, value) for name, value in choices.items()})

    def set_of_a_server(self) -> dict[str, str]:
        """Return what `OF_A_SERVER` names and this policy sets otherwise than its release does."""
        usual = _choices_of(self.release)
        return {name: getattr(self, name) for name in OF_A_SERVER if getattr(self, name) != usual.get(name, OF_A_SERVER[name][0])}

    def diff(self, other: Policy, shape: Shape | None = None) -> dict[str, tuple[Any, Any]]:
        """Return the choices in which two runs differ, each as (this one's value, the other's).

        What only a server follows is not among them; with a `shape`, neither is what none of its layers follows.
        """
        mine, theirs = self.to_dict(), other.to_dict()
        ignored = shape.ignores if shape is not None else ()
        return {name: (mine[name], theirs[name]) for name in mine if mine[name] != theirs[name] and name not in ignored}

    def to_dict(self) -> dict[str, Any]:
        """Return the choices that a run follows, as JSON holds them."""
        left_out = (*OF_A_SERVER, "release")
        choices: dict[str, Any] = {item.name: getattr(self, item.name) for item in dataclasses.fields(self) if item.name not in left_out}
        return choices | {"evict_at": sorted(self.evict_at)}


_NAMES = {name: cast("tuple[str, ...]", get_args(kind)) for name, kind in get_type_hints(Policy).items() if get_origin(kind) is Literal}

OF_A_SERVER = {name: _NAMES.pop(name) for name in ("fit", "close")}
"""The names that a server's life cycle may take. The cache of a run does not follow these fields, so they are left out of what is said of a run."""

CHOICES = _NAMES
"""The names each other field may take; the first is today's upstream main."""

_TO_SCOPES: dict[str, Any] = {
    "protect": "active_path",
    "mid_edge": "drop",
    "page_out_layers": "all_or_none",
    "media": "anywhere",
    "draft_states": "slices",
    "clear_pool_after_load": False,
    "fit": "working_set",
    "close": "signal",
}
_TO_0_33_0 = _TO_SCOPES | {"lifetimes": "sweep"}
_TO_0_32_7 = _TO_0_33_0 | {
    "growth": "in_place",
    "attach": "replace",
    "page_out": "at_switch",
    "page_out_layers": "missing",
    "on_cancel": "discard",
    "settle_draft": False,
}
_TO_0_32_6 = _TO_0_32_7 | {"copy_before_overwrite": "first_append"}
_TO_0_32_1 = _TO_0_32_6 | {"draft_states": "compact"}
_TO_0_30_8 = _TO_0_32_1 | {"capture_as": "view", "draft_keys": "single"}
_TO_0_30_7 = _TO_0_32_7 | {"snapshots": "eager", "on_cancel": "attach", "draft_keys": "single", "draft_states": "compact"}

_VERSIONS: tuple[tuple[tuple[int, int, int], dict[str, Any]], ...] = (
    ((0, 33, 0), _TO_0_33_0),
    ((0, 32, 7), _TO_0_32_7),
    ((0, 32, 6), _TO_0_32_6),
    ((0, 32, 1), _TO_0_32_1),
    ((0, 30, 8), _TO_0_30_8),
    ((0, 30, 7), _TO_0_30_7),
)
"""The first release that behaves so, newest first."""

_STATES: dict[str, dict[str, Any]] = {"main": {}, "scopes": _TO_SCOPES}
"""States of upstream that no release number is known for."""


def _version_key(version: str) -> tuple[int, int, int]:
    parts = version.lstrip("v").split("-")[0].split(".")
    if len(parts) != 3 or not all(part.isdigit() for part in parts):
        raise BadValue(
            what=f"{version!r} is not a version of Ollama",
            why=f"a version reads MAJOR.MINOR.PATCH, or {' or '.join(_STATES)}",
            hint="write main or a release such as 0.32.5; our own choices are called kvlab (in Python Policy.kvlab())",
        )
    return int(parts[0]), int(parts[1]), int(parts[2])


def _choices_of(version: str) -> dict[str, Any]:
    if version in _STATES:
        return _STATES[version]
    key = _version_key(version)
    for first, choices in _VERSIONS:
        if key >= first:
            return choices
    raise BadValue(
        what=f"Ollama {version} is older than the oldest behaviour kvlab knows",
        why="the version table begins at 0.30.7",
        hint="use 0.30.7 or later, or set single choices on top of it",
    )


def _typed(name: str, value: Any) -> Any:
    if name == "budget_bytes":
        return parse_bytes(value)
    if name in ("capture_grid", "capture_before_end", "prefill_chunk", "store_entries") and isinstance(value, str) and value.isdigit():
        return int(value)
    if name in BOOLEANS and isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower(), value)
    if name == "evict_at":
        return frozenset(value.replace(",", " ").split() if isinstance(value, str) else value)
    return value


def choice_words(value: object) -> str:
    """Return a choice's value as `--set` takes it; several names as `attach,begin`, sorted."""
    return ",".join(sorted(map(str, cast("Iterable[object]", value)))) if isinstance(value, set | frozenset | list | tuple) else str(value)


def _bad_choice(name: str, value: object, allowed: str) -> BadValue:
    return BadValue(
        what=f"the policy's {name} cannot be {value!r}",
        why=f"it is {allowed}",
        hint=f"set {name} to {allowed}",
    )
