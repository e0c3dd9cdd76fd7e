"""Records on paper: readable at any width, exact in pipes and JSON, harmless to the terminal."""

import io
import json
from contextlib import redirect_stderr
from typing import Any, cast

import pytest
from rich.cells import cell_len

from trunkline.cli import audit, cells, human
from trunkline.cli.fields import lines
from trunkline.cli.output import Done, Record, Rows, by_words, say, show, table_lines
from trunkline.client import Client

HOSTILE = "a\n\x1b[2Jb\u202e"
NOW = 1_800_000_000_000
MIN = 60_000
SESSIONS = [
    {
        "id": f"01a1e4e3-9bef-7{number}e0-a7a4-47b8f0f4c565",
        "title": title,
        "state": "disconnected" if number else "idle",
        "runtime_type": "claude-code",
        "machine": "this computer",
        "last_activity_at": NOW - number * 3 * MIN,
    }
    for number, title in enumerate(
        ["Fix the flaky test of the door", "把登录页面的按钮改成蓝色的，并且写一个测试", HOSTILE]
    )
]
COLUMNS = ("title", "id", "state", "last_activity_at", "machine", "runtime_type")


def test_a_table_fits_any_terminal_and_breaks_no_word() -> None:
    first = SESSIONS[0]
    words = {*" ".join(map(str, first.values())).split(), "01a1e4e3-9bef-70", "just", "now"}
    for width in range(40, 201):
        table = table_lines(Rows(SESSIONS, COLUMNS), width, NOW)
        assert max(map(cell_len, table)) <= width
        head = table[0].split()
        assert len(head) >= 2
        assert head == ["title", "id", "state", "active", "machine", "runtime"][: len(head)]
        assert set(table[1].replace("…", " ").split()) <= words
        assert len(table) == 1 + len(SESSIONS)
        assert "\x1b" not in "".join(table)


def test_long_words_of_a_list_are_whole_on_lines_below_its_name() -> None:
    ids = [one["id"] for one in SESSIONS]
    item = {"name": "this computer", "sessions": ids}
    assert list(lines(item, width=40, now_ms=NOW)) == [
        *("name      this computer", "sessions", f"  {ids[0]},", f"  {ids[1]},", f"  {ids[2]}")
    ]


def test_with_room_for_all_there_is_all_and_the_least_important_goes_first() -> None:
    def shown(width: int | None) -> int:
        return len(table_lines(Rows(SESSIONS, COLUMNS), width, NOW)[0].split())

    assert (shown(None), shown(200), shown(140)) == (6, 6, 6)
    assert shown(40) < shown(80) < shown(140)


def test_ids_are_as_long_as_they_need_to_be_told_apart_and_whole_on_request() -> None:
    ids = [{"id": "01a1e4e3-9bef-75e0-a7a4-47b8f0f4c565"}, {"id": "01a1e4e3-a650-70d3-8e2c-0"}]
    assert [line.strip() for line in table_lines(Rows(ids[:1], ("id",)), 40, NOW)][1:] == [
        "01a1e4e3"
    ]
    ids[1]["id"] = "01a1e4e3-a650-70d3-8e2c-3826677c5abd"
    assert table_lines(Rows(ids, ("id",)), 40, NOW)[1:] == ["01a1e4e3-9", "01a1e4e3-a"]
    assert table_lines(Rows(ids, ("id",)), None, NOW)[1:] == [one["id"] for one in ids]
    assert cells.shortened(["alice", None, 7]) == {}


def test_what_must_not_be_cut_stands_below_its_row() -> None:
    items = [{"id": "7", "request": {"tool": "bash", "args": {"command": "rm -rf " + "x " * 60}}}]
    found = table_lines(Rows(items, ("id", "request"), whole="request"), 40, NOW)
    assert max(map(cell_len, found)) <= 40
    assert "".join(found[2:]).count("x") == 60


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("short", 5, "short"),
        ("The quick brown fox", 12, "The quick…"),
        ("Incomprehensibilities", 12, "Incomprehen…"),
        ("把登录页面的按钮", 16, "把登录页面的按钮"),
        ("把登录页面的按钮", 10, "把登录页…"),
        ("a b", 2, "a…"),
        ("ab", 1, "…"),
        ("", 0, ""),
    ],
)
def test_a_long_text_is_cut_at_a_word(text: str, width: int, shown: str) -> None:
    assert human.cut(text, width) == shown
    assert cell_len(shown) <= width


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("tokens_in", 999, "999"),
        ("tokens_in", 1234, "1.2k"),
        ("tokens_out", 12_345, "12k"),
        ("message_count", 999_999, "1M"),
        ("size", 3_400_000, "3.4 MB"),
        ("memory_bytes_max", 999, "999 B"),
        ("seq", 123_456, "123456"),
        ("timeout_s", 60.0, "60 s"),
        ("score", 0.123456, "0.12"),
        ("created_at", NOW - 3 * MIN, "3 min ago"),
        ("created_at", NOW - 1, "just now"),
        ("at", NOW - 3 * MIN, "3 min ago"),
        ("created_at", NOW - 26 * 60 * MIN, "1 day ago"),
        ("expires_at", NOW + 3 * 24 * 60 * MIN, "in 3 days"),
        ("created_at", 0, "1970-01-01"),
        ("created_at", 10**30, str(10**30)),
        ("created_at", "soon", "soon"),
        ("online", True, "yes"),
        ("tags", ["a\n", "b"], "a\\n, b"),
        ("deep", {"a": {"b": None}, "c": HOSTILE}, "a: b: -, c: a\\n\\x1b[2Jb\\u202e"),
    ],
)
def test_a_value_as_people_read_it(name: str, value: object, shown: str) -> None:
    assert cells.readable(name, value, NOW) == shown


@pytest.mark.parametrize(
    ("amount", "shown"), [(0.0312, "$0.03"), (0.0001, "<$0.01"), (0, "$0"), (12.5, "$12.50")]
)
def test_money_is_rounded_to_cents(amount: float, shown: str) -> None:
    assert human.money(amount, "USD") == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        *((-1, "0.0 s"), (0.84, "0.8 s"), (9.96, "10 s"), (59.4, "59 s"), (59.6, "1 min")),
        *((125, "2 min 5 s"), (3600, "1 h"), (3725, "1 h 2 min")),
    ],
)
def test_a_duration_has_its_two_largest_units(seconds: float, shown: str) -> None:
    assert human.duration(seconds) == shown


def test_rows_are_tab_separated_and_exact_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    rows = Rows([{"id": "1", "name": HOSTILE, "size": 12_345}, {"id": "2"}], ("id", "name", "size"))
    show(rows, as_json=False)
    lines = ["1\ta\\n\\x1b[2Jb\\u202e\t12345", "2\t-\t-"]
    assert capsys.readouterr().out.splitlines() == ["id\tname\tsize", *lines]
    show(rows, as_json=False, has_header=False)
    assert capsys.readouterr().out.splitlines() == lines


def test_json_keeps_every_field_and_value(capsys: pytest.CaptureFixture[str]) -> None:
    items = [{"id": "1", "name": HOSTILE, "deep": {"a": [1, None, 2.5]}}]
    show(Rows(items, ("id",)), as_json=True)
    assert json.loads(capsys.readouterr().out) == items
    show(Record(items[0], view={"id": "1"}), as_json=True)
    assert json.loads(capsys.readouterr().out) == items[0]
    show(Done("gone"), as_json=True)
    assert json.loads(capsys.readouterr().out) == {"done": "gone"}


RECORD: dict[str, Any] = {
    "id": "1",
    "online": True,
    "detail": None,
    "tags": ["a\n", "b"],
    "prompt": "Be brief.\nid  7\x1b[2J",
    "created_at": NOW - 3 * MIN,
    "runtimes": {"semigraph": {"usable": True, "settings": ["one", "two", "three"]}, "acp": None},
    "hooks": [{"name": "x", "on": {"event": "y"}}, "z"],
}


def test_a_record_is_aligned_and_what_is_nested_in_it_is_indented() -> None:
    assert [*lines(RECORD, width=32, now_ms=NOW)] == [
        "id          1",
        "online      yes",
        "tags        a\\n, b",
        "prompt      Be brief.",
        "            id  7\\x1b[2J",
        f"created_at  {human.clock(NOW - 3 * MIN)}",
        "            (3 min ago)",
        "runtimes",
        "  semigraph",
        "    usable    yes",
        "    settings  one, two, three",
        "hooks",
        "  - name  x",
        "    on",
        "      event  y",
        "  - z",
    ]


def test_a_long_word_of_a_record_is_whole_on_its_own_line() -> None:
    record = {
        "id": "01a1e4e3-9bef-75e0-a7a4-47b8f0f4c565",
        "last_activity_at": None,
        "runtime": "x",
    }
    assert list(lines(record, width=40, now_ms=NOW)) == [
        "id",
        "  01a1e4e3-9bef-75e0-a7a4-47b8f0f4c565",
        "runtime  x",
    ]
    assert next(lines(record, width=80, now_ms=NOW)) == f"id       {record['id']}"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_sentence_breaks_between_words_in_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "error: no server runs with this data folder (trunkline up), or give --url"
    monkeypatch.setenv("COLUMNS", "40")
    with redirect_stderr(io.StringIO()) as pipe:
        say(text, err=True)
    assert pipe.getvalue() == text + "\n"
    with redirect_stderr(_Terminal()) as terminal:
        say(text, err=True)
    shown = terminal.getvalue().splitlines()
    assert max(map(len, shown)) <= 40
    assert " ".join(shown) == text


def test_in_a_pipe_a_record_has_also_what_is_not_set(capsys: pytest.CaptureFixture[str]) -> None:
    show(Record(RECORD, hint="what next"), as_json=False)
    out = capsys.readouterr().out
    assert "detail      -" in out
    assert "created_at  20" in out
    assert "min ago" not in out
    assert "\x1b" not in out
    assert out.endswith("what next\n")


async def test_usage_is_rounded_for_people_and_exact_for_programs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Server:
        async def get(self, *_: str, **__: object) -> dict[str, object]:
            used = {"calls": 2, "tokens_in": 1234, "tokens_out": 34, "latency_ms_avg": 1500.0}
            cost = {"amount": 0.0312, "currency": "USD"}
            priced = {"key": "gpt-4o", **used, "cost": cost, "unpriced_calls": 0}
            return {"items": [priced, {"key": "odd", **used, "cost": None, "unpriced_calls": 2}]}

    found = await audit.usage(cast(Client, Server()))
    head, first, second, total = table_lines(found, 100, NOW)
    assert head.split() == ["model", "cost", "tokens", "in", "tokens", "out", "calls", "seconds"]
    assert first.split() == ["gpt-4o", "$0.03", "1.2k", "34", "2", "1.5"]
    assert second.split()[:2] == ["odd", "-"]
    assert total.split()[:1] == ["total"]
    assert "$0.03 (and 2 calls of unknown price)" in total
    show(found, as_json=False)
    head, first, *_ = capsys.readouterr().out.splitlines()
    assert head.split("\t")[0] == "model"
    assert first.split("\t")[1:3] == ["0.0312 USD", "1234"]
    show(found, as_json=True)
    assert json.loads(capsys.readouterr().out)[1]["key"] == "odd"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("error: no server runs here", "error: no server\nruns here"),
        ("error: first\n    @reboot trunkline node --home /a/b", None),
        ("see /a/path/that/is/longer/than/that now", "see\n/a/path/that/is/longer/than/that\nnow"),
        ("", ""),
    ],
)
def test_sentences_are_broken_between_words_and_lines_to_copy_are_not(
    text: str, shown: str | None
) -> None:
    assert by_words(text, 18) == (text if shown is None else shown)
