"""The form for a model's name or config, without a browser: values are set as a browser would set them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from kvlab import shipped
from kvlab.lab.shapes import shipped_names
from kvlab.policy import Policy
from kvlab.views.shape_card_form import ShapeForm, shape_form


def config_of(name: str) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads((shipped.data("shapes") / f"{name}.json").read_text())["config"]
    return fields


def drop(form: ShapeForm, name: str, content: bytes) -> None:
    at = datetime(2026, 11, 29, tzinfo=UTC)
    form.file.value = ({"name": name, "type": "application/json", "size": len(content), "content": memoryview(content), "last_modified": at},)


def test_a_name_shows_its_card() -> None:
    form = ShapeForm()
    assert form.card.value == ""
    assert set(form.name.options) == set(shipped_names())
    form.name.value = " qwen3.8-27b "
    assert "8.00 GiB is full at request 28" in form.card.value
    form.name.value = "gemma4-31b"
    assert "Twin of gemma4-31b" in form.card.value
    form.name.value = ""
    assert "Twin of gemma4-31b" in form.card.value, "an empty field asks for nothing"


def test_it_may_begin_with_a_card_and_a_policy() -> None:
    form = ShapeForm("qwen3.8-27b", Policy(budget_bytes=2**30))
    assert "1.00 GiB is full at request 3" in form.card.value
    assert len(shape_form("smollm2").children) == 2


def test_a_dropped_config_shows_its_card() -> None:
    form = ShapeForm()
    drop(form, "config.json", json.dumps(config_of("lfm2-1.2b")).encode())
    assert "Twin of lfm2<" in form.card.value
    assert "recurrent state" in form.card.value
    drop(form, "mine.json", json.dumps(config_of("lfm2-1.2b")).encode())
    assert "Twin of mine<" in form.card.value


def test_a_dropped_shape_shows_its_card() -> None:
    form = ShapeForm()
    drop(form, "gemma4-31b.json", (shipped.data("shapes") / "gemma4-31b.json").read_bytes())
    assert "Twin of gemma4-31b" in form.card.value


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b"[" * 100_000])
def test_a_dropped_file_that_is_no_config(content: bytes) -> None:
    form = ShapeForm()
    drop(form, "<b>x</b>.json", content)
    assert "&lt;b&gt;x&lt;/b&gt;.json" in form.card.value
    assert "do: " in form.card.value


def test_what_is_wrong_is_told_in_the_card() -> None:
    form = ShapeForm("<script>")
    assert "&lt;script&gt;" in form.card.value
    assert "<script>" not in form.card.value
    drop(form, "config.json", json.dumps(config_of("lfm2-1.2b") | {"num_hidden_layers": 10**9}).encode())
    assert "config.json: num_hidden_layers is 1000000000" in form.card.value
    form.name.value = "smollm2"
    assert "Twin of smollm2" in form.card.value, "the form goes on"
