"""Listing and searching the workspace."""

import os
import shutil
from typing import Any

import pytest

from tests.unit.execution.tools.support import Call
from trunkline.execution.errors import ToolError
from trunkline.execution.tools.finding import (
    LIST_ENTRIES_MAX,
    SEARCH_LINE_CHARS_MAX,
    SEARCH_MATCHES_MAX,
    Glob,
    ListFiles,
    SearchFiles,
)
from trunkline.execution.tools.text_files import Paths


@pytest.fixture
def listing(paths: Paths) -> ListFiles:
    return ListFiles(paths)


@pytest.fixture
def search(paths: Paths, env: dict[str, str]) -> SearchFiles:
    return SearchFiles(paths, env)


@pytest.fixture
def tree(call: Call) -> None:
    call.file("src").mkdir()
    call.file("src/main.py").write_text("import os\nprint('hello')\n")
    call.file("src/.git").mkdir()
    call.file("src/.git/config").write_text("hello from git\n")
    call.file("notes.txt").write_text("Hello notes\nnothing\n")
    call.file("picture").write_bytes(b"hello\0\xff")
    call.file("out").symlink_to("/etc")


@pytest.mark.usefixtures("tree")
async def test_a_folder_is_listed_in_order_and_links_are_not_followed(
    listing: ListFiles, call: Call
) -> None:
    result = await call.run(listing)
    assert result.content.splitlines() == [
        "notes.txt (20 bytes)",
        "out (link)",
        "picture (7 bytes)",
        "src/",
    ]
    result = await call.run(listing, path="src", recursive=True)
    assert result.content.splitlines() == [".git/", "main.py (25 bytes)"]


async def test_an_empty_folder_and_a_missing_one_are_told_apart(
    listing: ListFiles, call: Call
) -> None:
    assert (await call.run(listing)).content == "(the folder is empty)"
    with pytest.raises(ToolError, match="there is no folder missing"):
        await call.run(listing, path="missing")


async def test_a_listing_is_bounded(listing: ListFiles, call: Call) -> None:
    for number in range(LIST_ENTRIES_MAX + 5):
        call.file(f"{number:05}").touch()
    result = await call.run(listing)
    assert result.details == {"entries": LIST_ENTRIES_MAX, "more": True}
    assert "and more" in result.content


async def test_odd_file_names_stay_on_their_line(listing: ListFiles, call: Call) -> None:
    call.file("two\nlines").touch()
    (call.home.workspace / b"bad\xff".decode(errors="surrogateescape")).touch()
    lines = (await call.run(listing)).content.splitlines()
    assert lines == ["bad\ufffd (0 bytes)", "'two\\nlines' (0 bytes)"]


@pytest.mark.usefixtures("tree")
async def test_text_is_found_with_file_and_line(search: SearchFiles, call: Call) -> None:
    result = await call.run(search, query="hello", ignore_case=True)
    assert sorted(result.content.splitlines()) == [
        "notes.txt:1:Hello notes",
        "src/main.py:2:print('hello')",
    ]
    assert result.details["matches"] == 2


@pytest.mark.usefixtures("tree")
async def test_a_search_can_be_narrowed(search: SearchFiles, call: Call) -> None:
    assert (await call.run(search, query="o", path="src", files="*.txt")).content.startswith("(not")
    result = await call.run(search, query="^import (os|sys)$", regex=True, files="*.py")
    assert result.content == "src/main.py:1:import os"
    result = await call.run(search, query="Hello", path="notes.txt")
    assert result.content == "notes.txt:1:Hello notes"


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize("query", ["(", "-r", "--help", "a{1,99999}", "[", "\\"])
async def test_odd_queries_are_plain_text(search: SearchFiles, call: Call, query: str) -> None:
    call.file("odd.txt").write_text(f"before {query} after\n")
    assert f"odd.txt:1:before {query} after" in (await call.run(search, query=query)).content


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": "(", "regex": True},
        {"query": "a\0b"},
        {"query": "two\nlines"},
        {"query": "x", "path": ".."},
        {"query": "x", "path": "missing"},
        {"query": "x", "files": "\0"},
    ],
    ids=repr,
)
async def test_a_search_that_cannot_be_made_says_why(
    search: SearchFiles, call: Call, arguments: dict[str, object]
) -> None:
    with pytest.raises(ToolError, match=r"\w"):
        await call.run(search, **arguments)


async def test_many_matches_and_wide_lines_are_bounded(search: SearchFiles, call: Call) -> None:
    call.file("many.txt").write_text(("hit " + "x" * 10_000 + "\n") * 1000)
    result = await call.run(search, query="hit")
    assert result.details["more"]
    assert len(result.content) < (SEARCH_LINE_CHARS_MAX + 1) * SEARCH_MATCHES_MAX + 99


@pytest.mark.usefixtures("tree")
async def test_a_search_does_not_leave_through_a_link(search: SearchFiles, call: Call) -> None:
    assert (await call.run(search, query="root:x")).content == "(nothing found)"


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", ["a.py", "src/b.py", "src/deep/c.py"]),
        ("src/*.py", ["src/b.py"]),
        ("src/**/*.py", ["src/b.py", "src/deep/c.py"]),
        ("src/**", ["src/b.py", "src/deep/c.py", "src/deep/d.ts"]),
        ("**/*.{ts,tsx}", ["src/deep/d.ts"]),
        ("./a.py", ["a.py"]),
        ("?.py", ["a.py", "src/b.py", "src/deep/c.py"]),
        ("[ab].py", ["a.py", "src/b.py"]),
        ("**/deep/*", ["src/deep/c.py", "src/deep/d.ts"]),
        ("*.md", []),
        ("{", []),
        ("*a" * 200, []),
        ("**/" * 150 + "x", []),
    ],
)
async def test_glob_finds_files_by_their_path(
    paths: Paths, call: Call, pattern: str, found: list[str]
) -> None:
    for name in ("a.py", "src/b.py", "src/deep/c.py", "src/deep/d.ts", ".git/e.py", "n" * 250):
        call.file(name).parent.mkdir(parents=True, exist_ok=True)
        call.file(name).touch()
    call.file("link").symlink_to("src")
    result = await call.run(Glob(paths), pattern=pattern)
    expected = sorted(found) or ["(nothing found)"]
    assert sorted(result.content.splitlines()) == expected


async def test_glob_shows_the_newest_first_and_refuses_a_pattern_without_end(
    paths: Paths, call: Call
) -> None:
    for age, name in enumerate(["new", "older", "oldest"]):
        call.file(name).touch()
        os.utime(call.file(name), (1000 - age, 1000 - age))
    assert (await call.run(Glob(paths), pattern="*")).content == "new\nolder\noldest"
    with pytest.raises(ToolError, match="at most 64 alternatives"):
        await call.run(Glob(paths), pattern="{a,b}" * 20)


@pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")
@pytest.mark.parametrize(
    "arguments",
    [
        {"query": "foo(bar"},
        {"query": "FOO", "ignore_case": True, "files": "*.py"},
        {"query": "fo+", "regex": True, "path": "sub"},
        {"query": "foo", "files": "!odd"},
        {"query": "nothing"},
    ],
)
async def test_ripgrep_finds_what_grep_finds(
    paths: Paths, call: Call, arguments: dict[str, Any]
) -> None:
    names = ("a.py", "sub/b.txt", ".git/c", "node_modules/d.py", "!odd", ".hidden", ".gitignore")
    for name in names:
        call.file(name).parent.mkdir(parents=True, exist_ok=True)
        call.file(name).write_text("a.py\nfoo(bar)\n")
    found = [
        await call.run(SearchFiles(paths, {"PATH": path}), **arguments)
        for path in ("/usr/bin:/bin", os.environ["PATH"])
    ]
    assert sorted(found[0].content.splitlines()) == sorted(found[1].content.splitlines())
