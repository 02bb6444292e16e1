"""Keep-alive as upstream's documentation has it: a number of seconds, a Go duration, negative for ever, 0 at once, 5 minutes by default."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest

from kvlab.errors import BadValue
from kvlab.serve.keep_alive import DEFAULT_S, FOREVER, Remaining, parse_keep_alive, parse_setting


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        (None, 300.0),
        (0, 0.0),
        ("0", 0.0),
        ("0s", 0.0),
        (3600, 3600.0),
        (2.5, 2.5),
        (-1, math.inf),
        (-0.1, math.inf),
        ("-1", None),
        ("-1m", math.inf),
        ("-1s", math.inf),
        ("10m", 600.0),
        ("24h", 86400.0),
        ("1h30m", 5400.0),
        ("1.5h", 5400.0),
        ("500ms", 0.5),
        ("1h0m0.5s", 3600.5),
        ("10", None),
        ("5 minutes", None),
        ("", None),
        ("m", None),
        ("5m ", None),
        (True, None),
        ([], None),
        (float("nan"), None),
        (10**30, math.inf),
    ],
)
def test_of_a_request(given: object, seconds: float | None) -> None:
    if seconds is None:
        with pytest.raises(BadValue, match="keep_alive"):
            parse_keep_alive(given)
    else:
        assert parse_keep_alive(given) == seconds


@pytest.mark.parametrize(("text", "seconds"), [("300", 300.0), ("-1", FOREVER), ("0", 0.0), ("10m", 600.0), ("-1m", FOREVER), (" 10m ", 600.0)])
def test_of_the_environment_a_bare_number_is_seconds(text: str, seconds: float) -> None:
    assert parse_setting(text) == seconds


def test_the_servers_own_default_is_used_where_a_request_has_none() -> None:
    assert parse_keep_alive(None, 7.0) == 7.0
    assert parse_keep_alive(None) == DEFAULT_S


def test_a_model_that_stays_for_ever_is_listed_with_a_moment_all_the_same() -> None:
    now = datetime(2026, 12, 1, tzinfo=UTC)
    assert datetime.fromisoformat(Remaining(60).expires_at(now)).minute == 1
    assert datetime.fromisoformat(Remaining(FOREVER).expires_at(now)).year == 2319
