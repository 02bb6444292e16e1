"""The card of a twin: what its model keeps, what short requests add, and when the budget is full; as text and as HTML, both still."""

from __future__ import annotations

from html import escape

from kvlab.lab import Twin
from kvlab.lab.outlook import Outlook
from kvlab.models.config.packing import UNPACKED
from kvlab.models.config.provenance import Provenance
from kvlab.recording.policy_words import policy_words
from kvlab.shape import TOKEN_KINDS, LayerGroup, Shape
from kvlab.units import binary
from kvlab.views import text_table

KIND_WORDS = {
    "kv": "full attention",
    "rotating": "sliding window",
    "recurrent": "recurrent state",
    "stateless": "keeps nothing",
    "draft_kv": "draft head",
    "hidden": "hidden states",
}
"""What a layer kind is in words."""

TITLES = ("kind", "layers", "a token", "a checkpoint", "window", "source")


def shape_card(twin: Twin) -> str:
    """Return the card as text; every figure with its unit."""
    lines = [f"  {name:<12}  {words}" for name, words in facts(twin)]
    table = text_table.columns(TITLES, _rows(twin), left=(0, 5))
    sources = [f"  {name:<13}  {one}" for name, one in twin.provenance.items()]
    parts = [f"Twin of {twin.name}", *lines, "", *(f"  {line}" for line in table.splitlines())]
    return "\n".join([*parts, *(["", *sources] if sources else [])])


def shape_card_html(twin: Twin) -> str:
    """Return the card as an HTML fragment: tables without scripts or links."""
    head = "".join(f"<th>{escape(title)}</th>" for title in TITLES)
    body = "".join("<tr>" + "".join(f"<td>{escape('-' if cell is None else str(cell))}</td>" for cell in row) + "</tr>" for row in _rows(twin))
    # a notebook sets tables to the right, which suits figures and not sentences
    lines = "".join(f'<tr><th>{escape(name)}</th><td style="text-align:left">{escape(words)}</td></tr>' for name, words in facts(twin))
    items = "".join(f"<li>{escape(name)}: {escape(str(one))}</li>" for name, one in twin.provenance.items())
    sources = f"<details><summary>Where these figures come from</summary><ul>{items}</ul></details>" if items else ""
    return f"<h4>Twin of {escape(twin.name)}</h4><table>{lines}</table><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{sources}"


def facts(twin: Twin) -> list[tuple[str, str]]:
    """Return the card's lines as (name, words)."""
    shape, seen = twin.shape, twin.outlook
    context = f", context of {shape.context:,} tokens" if shape.context else ""
    ahead = ", a draft head with a look-ahead of 1 token" if shape.look_ahead else ""
    return [
        ("weights", f"{binary(shape.weights_bytes)}{_status(twin, 'weights_bytes')}{context}{ahead}"),
        ("a token", _a_token(_kept_by_token(twin))),
        ("a checkpoint", _checkpoint(shape)),
        ("policy", policy_words(twin.policy.to_dict())),
        ("a request", f"{seen.prompt} prompt tokens, {seen.reply} reply tokens, nothing shared but a template: {_adds(seen)}"),
        ("the budget", _when_full(seen, shape.weights_bytes, twin.provenance.get("weights_bytes"))),
    ]


def _status(twin: Twin, figure: str) -> str:
    known = twin.provenance.get(figure)
    return f" ({known.status})" if known else ""


def _a_token(kept: int) -> str:
    return f"{binary(kept)} in every layer that keeps a slot a token" if kept else "nothing that stays: no layer keeps a slot for every token"


def _checkpoint(shape: Shape) -> str:
    if not shape.state_bytes:
        return "none: every position can be restored"
    windows = any(group.kind == "rotating" for group in shape.groups)
    return f"{binary(shape.state_bytes)}, {'with full windows' if windows else 'whatever came before it'}"


def _adds(seen: Outlook) -> str:
    nodes = f"{seen.nodes:g} node{'' if seen.nodes == 1 else 's'}"
    return f"{nodes}, {binary(seen.growth)} counted" if seen.growth > 0 else f"{nodes}, no bytes that stay"


def _when_full(seen: Outlook, weights: int, known: Provenance | None) -> str:
    if seen.full_at is None:
        return f"{binary(seen.budget)} does not fill with such requests"
    unpacked = f" {UNPACKED}" if known is not None and UNPACKED in known.source else ""
    flat = binary(weights + seen.live + seen.budget)
    return f"{binary(seen.budget)} is full at request {seen.full_at:,}; from then on flat at about {flat} (weights{unpacked}, live buffers and budget)"


def _kept_by_token(twin: Twin) -> int:
    return sum(group.bytes_per_token for group in twin.shape.groups if group.kind in TOKEN_KINDS)


def _rows(twin: Twin) -> list[list[object]]:
    return [_row(twin, group) for group in twin.shape.groups]


def _row(twin: Twin, group: LayerGroup) -> list[object]:
    known = twin.provenance.get(group.kind)
    return [
        KIND_WORDS[group.kind],
        len(group.layers),
        binary(group.bytes_per_token) if group.bytes_per_token else None,
        binary(group.state_bytes) if group.state_bytes else None,
        f"{group.window:,} tokens" if group.window else None,
        known.status if known else None,
    ]
