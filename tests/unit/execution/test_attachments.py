"""Files that came with a message: where they end up, whatever they are called."""

import base64
from pathlib import Path
from typing import Any

import pytest

from trunkline import limits
from trunkline.execution.attachments import (
    FOLDER,
    read_attachments,
    safe_name,
    with_attachments,
)

NAMES = [
    "../../etc/passwd",
    "..",
    ".",
    "",
    "/",
    "/etc/shadow",
    "..\\..\\windows\\system32",
    "C:\\boot.ini",
    "a\0b",
    "new\nline.txt",
    "~/.ssh/authorized_keys",
    ".bashrc",
    "$(rm -rf .).sh",
    "`x`;&|",
    "\ud800",
    "\u202egnp.exe",
    "a" * 5000 + ".txt",
    "漢" * 300 + ".pdf",
    "x." + "y" * 5000,
    "-rf",
    "attachments",
]


def attached(name: Any, data: bytes = b"hello", mime: Any = "text/plain") -> dict[str, Any]:
    return {"name": name, "mime": mime, "base64": base64.b64encode(data).decode()}


def told(workspace: Path, *files: Any, message: str = "Look.") -> str:
    return with_attachments(workspace, message, read_attachments({"attachments": list(files)}))


def kept(workspace: Path) -> dict[str, bytes]:
    folder = workspace / FOLDER
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_hostile_name_leads_nowhere_else(tmp_path: Path, name: str) -> None:
    workspace = tmp_path / "in" / "workspace"
    workspace.mkdir(parents=True)
    said = told(workspace, attached(name))
    [(shown, data)] = kept(workspace).items()
    assert data == b"hello"
    assert f"- {FOLDER}/{shown} (text/plain, 5 bytes)" in said.splitlines()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files == [workspace / FOLDER / shown]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_safe_name_is_plain_and_stays_what_it_is(name: str) -> None:
    safe = safe_name(name)
    assert safe == safe_name(safe)
    assert not set(safe) & set("/\\\0\n$`;&|~")
    assert not safe.startswith(".")
    assert 0 < len(safe.encode()) <= 255


def test_names_that_people_use_are_kept() -> None:
    for name in ("report.pdf", "Größe (2).xlsx", "报告.docx", "a.tar.gz"):
        assert safe_name(name) == name


def test_no_file_takes_the_place_of_another(tmp_path: Path) -> None:
    told(tmp_path, attached("a.txt", b"1"), attached("a.txt", b"2"), attached("a.txt", b"3"))
    assert kept(tmp_path) == {"a.txt": b"1", "a-2.txt": b"2", "a-3.txt": b"3"}


def test_a_link_that_waits_under_the_name_is_not_followed(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside.txt"
    (workspace / FOLDER).mkdir(parents=True)
    (workspace / FOLDER / "a.txt").symlink_to(outside)
    told(workspace, attached("a.txt"))
    assert not outside.exists()
    assert (workspace / FOLDER / "a-2.txt").read_bytes() == b"hello"


def test_a_folder_that_leads_out_of_the_workspace_is_not_used(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    workspace.mkdir()
    outside.mkdir()
    (workspace / FOLDER).symlink_to(outside)
    said = told(workspace, attached("a.txt"))
    assert (
        "- a.txt could not be kept: attachments leads out of the folder that it belongs to" in said
    )
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ({"name": "a", "mime": "", "base64": "no base64!"}, "not base64"),
        ({"name": "a", "base64": ""}, "empty"),
        ({"name": "a"}, "empty"),
        ({"name": ["a"], "base64": {"x": 1}}, "empty"),
        ("text", "empty"),
        (None, "empty"),
    ],
)
def test_what_is_no_file_is_said_and_the_rest_is_kept(tmp_path: Path, file: Any, why: str) -> None:
    said = told(tmp_path, file, attached("good.txt"))
    assert f"could not be kept: it is {why}" in said
    assert list(kept(tmp_path)) == ["good.txt"]


def test_too_many_and_too_large_ones_are_not_kept(tmp_path: Path) -> None:
    said = told(tmp_path, *[attached("a.txt")] * (limits.ATTACHMENTS_MAX + 5))
    assert len(kept(tmp_path)) == limits.ATTACHMENTS_MAX
    assert said.count("could not be kept") == 1
    large = b"x" * (limits.ATTACHMENTS_BYTES_MAX * 3 // 4 - 3)
    said = told(tmp_path, attached("large.bin", large), attached("small.txt"))
    assert "- small.txt could not be kept" in said
    assert (tmp_path / FOLDER / "large.bin").stat().st_size == len(large)


def test_what_a_file_says_of_itself_cannot_forge_lines(tmp_path: Path) -> None:
    said = told(tmp_path, attached("a.txt", mime="x/y)\n- /etc/passwd"), {"name": "b\n- forged"})
    lines = said.splitlines()
    assert lines[3:] == [
        "- attachments/a.txt (5 bytes)",
        "- b_- forged could not be kept: it is empty",
    ]


@pytest.mark.parametrize("metadata", [{}, {"attachments": []}, {"attachments": "x"}])
def test_a_message_without_files_is_as_it_was(tmp_path: Path, metadata: dict[str, Any]) -> None:
    assert with_attachments(tmp_path, "Look.", read_attachments(metadata)) == "Look."
    assert list(tmp_path.iterdir()) == []


def test_data_urls_are_understood(tmp_path: Path) -> None:
    told(tmp_path, {"name": "a.txt", "base64": "data:text/plain;base64,aGVsbG8="})
    assert kept(tmp_path) == {"a.txt": b"hello"}
