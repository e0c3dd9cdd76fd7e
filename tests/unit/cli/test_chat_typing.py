"""What is typed in a chat: which of it is a command, what it is completed to, what is kept."""

import json
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from trunkline.cli.chat.completing import Names
from trunkline.cli.chat.history import ENTRIES_MAX, ENTRY_CHARS_MAX, Typed, file_of
from trunkline.cli.chat.slash import file_name
from trunkline.cli.chat.slash_names import command_of


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Fix the build", "Fix-the-build.md"),
        ("修复 构建", "修复-构建.md"),
        ("../../etc/passwd", "etc-passwd.md"),
        ("--force .hidden", "force-.hidden.md"),
        ("a\x1b[2J/b\\c:d", "a-2J-b-c-d.md"),
        ("部" * 200, "部" * 60 + ".md"),
        (" / ", ""),
        ("", ""),
        (None, ""),
    ],
)
def test_an_exported_chat_goes_into_a_file_that_is_called_like_it(
    title: str | None, name: str
) -> None:
    assert file_name(title) == name


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        ("/help", ("help", "")),
        ("/fork  3 ", ("fork", "3")),
        ("/queue two\nlines", ("queue", "two\nlines")),
        ("/no-such-thing x", ("no-such-thing", "x")),
        ("/usr/bin", None),
        ("/usr/bin is a folder", None),
        ("/", None),
        ("/ help", None),
        ("//help", None),
        ("say /help", None),
        ("/2", None),
    ],
)
def test_a_command_is_a_name_behind_a_slash(typed: str, command: tuple[str, str] | None) -> None:
    assert command_of(typed) == command


@pytest.fixture
def names(tmp_path: Path) -> Names:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.py").touch()
    (tmp_path / "setup.py").touch()
    (tmp_path / ".hidden").touch()
    known = Names()
    known.folder = tmp_path
    known.persons = ["Ada", "sam"]
    known.files = ["report.md"]
    known.arguments = {"model": ["demo", "gpt-5"]}
    commands: list[object] = [
        {"name": "review", "description": "Looks\x1b[2J at it."},
        {"name": "odd\x1b]0;x\x07"},
        {"name": 7},
        "no object",
    ]
    known.take({"type": "session_status", "commands": commands})
    known.take({"type": "session_status", "commands": "no list"})
    known.take({"type": "text_chunk", "commands": []})
    return known


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("/ex", ["/exit", "/export"]),
        ("/re", ["/review"]),
        ("/model ", ["demo", "gpt-5"]),
        ("/model g", ["gpt-5"]),
        ("/model gpt-5 x", []),
        ("say /ex", []),
        ("@a", ["@Ada"]),
        ("look at @s", ["@sam", "@setup.py", "@src/"]),
        ("look at\n@re", ["@report.md"]),
        ("@src/", ["@src/main.py"]),
        ("@src/nothing", []),
        ("@.h", ["@.hidden"]),
        ("@/et", []),
        ("@\0/", []),
        ("@\0", []),
        ("ada@example", []),
        ("", []),
    ],
)
def test_names_are_completed_where_they_can_stand(
    names: Names, typed: str, completed: list[str]
) -> None:
    found = names.get_completions(Document(typed), CompleteEvent())
    assert sorted(one.text for one in found) == completed


def test_a_completion_cannot_write_to_the_terminal(names: Names) -> None:
    shown = [
        one.display_text + one.display_meta_text
        for one in names.get_completions(Document("/"), CompleteEvent())
    ]
    assert all(text.isprintable() for text in shown)


def test_history_is_private_bounded_and_survives_damage(tmp_path: Path) -> None:
    file = file_of({"XDG_STATE_HOME": str(tmp_path)})
    first = Typed(file)
    first.append_string("one\nof two lines")
    first.append_string("x" * (ENTRY_CHARS_MAX + 1))
    first.append_string("二")
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    with file.open("ab") as more:
        more.write(b'\xff\xfe\n{"no": "text"}\n' + b"[" * 100_000 + b"\n")
    assert list(Typed(file).load_history_strings()) == ["二", "one\nof two lines"]
    with file.open("ab") as more:
        more.writelines(json.dumps(f"n{i}").encode() + b"\n" for i in range(2 * ENTRIES_MAX))
    again = list(Typed(file).load_history_strings())
    assert (len(again), again[0]) == (ENTRIES_MAX, f"n{2 * ENTRIES_MAX - 1}")
    assert len(file.read_bytes().splitlines()) == ENTRIES_MAX
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_history_that_is_no_file_costs_nothing(tmp_path: Path) -> None:
    typed = Typed(tmp_path)
    typed.append_string("hello")
    assert list(typed.load_history_strings()) == []


@pytest.mark.parametrize("state", ["", "relative/folder"])
def test_without_a_folder_for_state_it_is_the_usual_one(state: str) -> None:
    env = {"XDG_STATE_HOME": state} if state else {}
    assert file_of(env) == Path.home() / ".local/state/trunkline/chat-history"
