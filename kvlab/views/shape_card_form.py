"""A form for notebooks: type a model's name, or drop its config.json, and its card appears. Without a kernel or a browser nothing happens."""

# pyright: standard
from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any

import ipywidgets

from kvlab.errors import KvlabError, UnreadableInput
from kvlab.lab import Twin, open_twin
from kvlab.lab.shapes import shape_of_fields, shipped_names
from kvlab.models.config.source import MOST_BYTES
from kvlab.policy import Policy
from kvlab.views.shape_card import shape_card_html


class ShapeForm:
    """The form's parts.

    Attributes:
        name: Where a name or a path is typed; it takes effect with Enter or when a suggestion is picked.
        file: Where a config.json is dropped.
        card: Where the card, or what is wrong, is shown.
        widget: All of them together.
    """

    def __init__(self, name: str = "", policy: Policy | None = None) -> None:
        self._policy = policy
        wide = ipywidgets.Layout(width="420px")
        self.name = ipywidgets.Combobox(
            value="",
            options=shipped_names(),
            placeholder="a name, a config.json or a folder",
            description="model",
            continuous_update=False,
            ensure_option=False,
            layout=wide,
        )
        self.file = ipywidgets.FileUpload(accept=".json", multiple=False, description="config.json")
        self.card = ipywidgets.HTML()
        self.widget = ipywidgets.VBox([ipywidgets.HBox([self.name, self.file]), self.card])
        self.name.observe(self._typed, "value")
        self.file.observe(self._dropped, "value")
        self.name.value = name

    def _typed(self, change: Mapping[str, Any]) -> None:
        if change["new"].strip():
            self._show(change["new"].strip())

    def _dropped(self, change: Mapping[str, Any]) -> None:
        for one in change["new"]:
            try:
                found = shape_of_fields(_fields(one["name"], bytes(one["content"])), one["name"])
                self.card.value = shape_card_html(Twin(found.shape, self._policy, found.provenance))
            except KvlabError as error:
                self.card.value = error_html(error)

    def _show(self, given: str) -> None:
        try:
            self.card.value = shape_card_html(open_twin(given, self._policy))
        except KvlabError as error:
            self.card.value = error_html(error)


def shape_form(name: str = "", policy: Policy | None = None) -> Any:
    """Return the form as a widget, with the card of `name` when one is given; `policy` is what the cards' caches follow."""
    return ShapeForm(name, policy).widget


def error_html(error: KvlabError) -> str:
    """Return what is wrong as an HTML fragment: what, why, and what to do."""
    return f"<p><b>{escape(error.what)}</b><br>why: {escape(error.why)}<br>do: {escape(error.hint)}</p>"


def _fields(name: str, content: bytes) -> dict[str, Any]:
    if len(content) > MOST_BYTES:
        raise UnreadableInput(what=f"{name} is {len(content)} bytes", why=f"a config of more than {MOST_BYTES} bytes is not read", hint="drop a config.json")
    try:
        fields: object = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UnreadableInput(what=f"{name} is no JSON", why=str(error), hint="drop the config.json that came with the model") from None
    if not isinstance(fields, dict):
        raise UnreadableInput(what=f"{name} holds no object", why="a config is an object with named values", hint="drop a model's config.json")
    return fields
