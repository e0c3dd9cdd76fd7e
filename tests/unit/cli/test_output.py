"""Records on paper: readable, exact in JSON, and harmless to the terminal."""

import json
from typing import cast

import pytest

from trunkline.cli import audit
from trunkline.cli.output import Done, Record, Rows, cell, show
from trunkline.client import Client

HOSTILE = "a\n\x1b[2Jb\u202e"


def test_rows_are_tab_separated_for_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    show(Rows([{"id": "1", "name": HOSTILE, "x": 0}, {"id": "2"}], ("id", "name")), as_json=False)
    assert capsys.readouterr().out == "1\ta\\n\\x1b[2Jb\\u202e\n2\t-\n"


def test_json_keeps_every_field_and_value(capsys: pytest.CaptureFixture[str]) -> None:
    items = [{"id": "1", "name": HOSTILE, "deep": {"a": [1, None, 2.5]}}]
    show(Rows(items, ("id",)), as_json=True)
    assert json.loads(capsys.readouterr().out) == items
    show(Record(items[0]), as_json=True)
    assert json.loads(capsys.readouterr().out) == items[0]
    show(Done("gone"), as_json=True)
    assert json.loads(capsys.readouterr().out) == {"done": "gone"}


def test_a_record_is_one_field_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    show(Record({"id": "1", "online": True, "detail": None, "tags": ["a\n"]}), as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "id      1",
        "online  yes",
        "detail  -",
        'tags    ["a\\n"]',
    ]


@pytest.mark.parametrize("value", [0, 1_700_000_000_000, -1, 10**30, "soon", True])
def test_a_time_never_breaks_the_output(value: object) -> None:
    assert cell("created_at", value)


async def test_usage_is_a_table_with_headers_also_in_a_pipe(
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Server:
        async def get(self, *_: str, **__: object) -> dict[str, object]:
            used = {"calls": 2, "tokens_in": 1200, "tokens_out": 34, "latency_ms_avg": 1500.0}
            cost = {"amount": 0.0123, "currency": "USD"}
            priced = {"key": "gpt-4o", **used, "cost": cost, "unpriced_calls": 0}
            return {"items": [priced, {"key": "odd", **used, "cost": None, "unpriced_calls": 2}]}

    found = await audit.usage(cast(Client, Server()))
    show(found, as_json=False)
    head, first, second, total = capsys.readouterr().out.splitlines()
    assert head.split()[:2] == ["model", "calls"]
    assert "cost" in head
    assert first.split() == ["gpt-4o", "2", "1200", "34", "1.5", "0.0123", "USD"]
    assert second.split() == ["odd", "2", "1200", "34", "1.5", "-"]
    assert total.split()[:4] == ["total", "4", "2400", "68"]
    assert "0.0123 USD (and 2 calls of unknown price)" in total
    show(found, as_json=True)
    assert json.loads(capsys.readouterr().out)[1]["key"] == "odd"
