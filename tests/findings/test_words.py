"""The sentences of questions are data: each one that a question says is there, and none is there that no question says."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from kvlab.findings.question import WORDS, Question

SECTIONS = tomllib.loads(WORDS.read_text())
FILES = [path for path in sorted(Path(WORDS).parent.glob("*.py")) if "= Question(" in path.read_text() or ", HIT = " in path.read_text()]


def questions(tree: ast.Module) -> dict[str, str]:
    """Return the questions of a file by the names of their constants."""
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            names = [name.id for name in ast.walk(node.targets[0]) if isinstance(name, ast.Name)]
            calls = [call for call in ast.walk(node.value) if isinstance(call, ast.Call) and ast.unparse(call.func) == "Question"]
            found |= {name: str(ast.literal_eval(call.args[0])) for name, call in zip(names, calls, strict=False)}
    return found


def literals(node: ast.expr) -> Iterator[str]:
    """Yield the words that an expression may be, as far as they are written out."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from literals(node.body)
        yield from literals(node.orelse)


def said(path: Path) -> Iterator[tuple[str, str, bool]]:
    """Yield the question, the sentence's name, and whether it is one of `refuted_by`, for each that is named in a file."""
    tree = ast.parse(path.read_text())
    named = questions(tree)
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and (question := named.get(ast.unparse(call.func.value))):
            refuted = [word.value for word in call.keywords if word.arg == "refuted_by"]
            says = call.args[:1] if call.func.attr in ("say", "refutes") else []
            for key in (key for node in says for key in literals(node)):
                yield question, key, call.func.attr == "refutes"
            for key in (key for node in refuted for key in literals(node)):
                yield question, key, True


def test_every_question_has_its_words() -> None:
    assert {name for path in FILES for name in questions(ast.parse(path.read_text())).values()} == set(SECTIONS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_sentence_that_is_said_is_there(path: Path) -> None:
    missing = [(question, key) for question, key, refuted in said(path) if key not in (SECTIONS[question]["refuted_by"] if refuted else SECTIONS[question])]
    assert missing == []


def test_no_sentence_is_there_that_is_never_said() -> None:
    trees = [ast.parse(path.read_text()) for path in Path(WORDS).parent.glob("*.py")]
    words = {node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    keys = [key for section in SECTIONS.values() for key in (*section, *section.get("refuted_by", ()))]
    # a name may be put together of two words, such as the question's part and a verdict
    assert [key for key in keys if key not in words | {"refuted_by"} and not any(key.startswith(word) and key[len(word) :] in words for word in words)] == []


def test_a_part_is_left_out_where_a_figure_in_it_is_not_known() -> None:
    question = Question("what_will_unload_give_back")
    without = question.say("stopped", at=3.0, pids=None, held_before_bytes=None)
    with_both = question.say("stopped", at=3.0, pids="12", held_before_bytes=2**30)
    assert "(process" not in without
    assert "It held" not in without
    assert "(process 12)" in with_both
    assert "It held 1.00 GiB when last read." in with_both
