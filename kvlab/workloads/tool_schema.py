"""A made-up catalogue of tools as an agent's system prompt carries it: JSON of a given size, in our own words, the same from the same seed."""

from __future__ import annotations

import json
import random
from typing import Any

TOOLS = 32
SCHEMA_CHARACTERS = 89_000
"""The size of a real agent's catalogue in the reports: 32 tools in about 89 KB."""

_VERBS = ("read", "write", "find", "list", "copy", "move", "count", "sort", "open", "close", "send", "fetch", "check", "plan", "merge", "trace")
_NOUNS = ("note", "page", "folder", "letter", "map", "table", "picture", "ticket", "garden", "ledger", "recipe", "route", "shelf", "voice", "window", "account")
_TYPES = ("string", "integer", "boolean", "number")
_OPENINGS = ("Says", "Names", "Limits", "Describes", "Selects", "Counts", "Marks", "Bounds")
_MIDDLES = ("which part is meant", "how far the work goes", "what is left out", "in which order results come", "who may see it", "when it was last changed")
_ENDINGS = ("as the owner wrote it", "with a short reason", "from the first line on", "unless nothing fits", "for the whole project", "in plain words")


def schema(tools: int = TOOLS, characters: int = SCHEMA_CHARACTERS, seed: int = 1) -> str:
    """Return the catalogue as JSON text of about `characters`; no two tools have the same name, up to 256 tools."""
    rng = random.Random(seed)
    names = [f"{verb}_{noun}" for verb in _VERBS for noun in _NOUNS]
    rng.shuffle(names)
    # the brackets and commas around the tools take two characters each
    return json.dumps([_tool(rng, name, characters // tools - 2) for name in names[:tools]])


def _tool(rng: random.Random, name: str, room: int) -> dict[str, Any]:
    verb, _, noun = name.partition("_")
    parameters: dict[str, Any] = {}
    tool: dict[str, Any] = {
        "type": "function",
        "function": {"name": name, "description": f"Use this to {verb} a {noun}.", "parameters": {"type": "object", "properties": parameters}},
    }
    while len(json.dumps(tool)) < room:
        said = f"{rng.choice(_OPENINGS)} {rng.choice(_MIDDLES)}, {rng.choice(_ENDINGS)}."
        left = room - len(json.dumps(tool))
        if left < 120:
            tool["function"]["description"] += f" {said}"[: max(1, left)]
        else:
            parameters[f"{rng.choice(_NOUNS)}_{len(parameters) + 1}"] = {"type": rng.choice(_TYPES), "description": said}
    return tool
