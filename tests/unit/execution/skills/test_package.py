"""Packages from outside: only what stays in its folder is written, and all of it or nothing."""

import base64
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from trunkline import limits
from trunkline.execution.errors import SkillRefused
from trunkline.execution.skills.packages import checked_files, write_folder

GUIDE = {"path": "SKILL.md", "content": "guide", "encoding": "utf-8"}


def package(*files: Any) -> dict[str, Any]:
    return {"files": [GUIDE, *files]}


@pytest.mark.proves("004-8-text-and-base64")
def test_text_and_bytes_are_taken() -> None:
    logo = {
        "path": "img/a.png",
        "content": base64.b64encode(b"\x89").decode(),
        "encoding": "base64",
    }
    files = checked_files(package(logo, {"path": "数/b.md", "content": "数"}))
    assert files == {
        PurePosixPath("SKILL.md"): b"guide",
        PurePosixPath("img/a.png"): b"\x89",
        PurePosixPath("数/b.md"): "数".encode(),
    }


@pytest.mark.parametrize(
    "path",
    [
        *("/etc/passwd", "../x", "a/../../x", "a/..", "..", ".", "", "a//b", "a/./b", "a\\b"),
        *("C:/x", "a\0b", "a\nb", "x" * 500, "/".join("a" * 20), "n" * 256, "\ud800", 7, None),
        *("SKILL.md", "skill.MD"),
    ],
)
@pytest.mark.proves("004-8-inside-the-folder")
def test_a_path_that_leads_out_or_means_two_things_is_refused(path: Any) -> None:
    with pytest.raises(SkillRefused):
        checked_files(package({"path": path, "content": "x"}))


@pytest.mark.parametrize(
    "entry",
    [
        None,
        "SKILL.md",
        {"path": "a"},
        {"path": "a", "content": 7},
        {"path": "a", "content": "not base64!", "encoding": "base64"},
        {"path": "a", "content": "x", "encoding": "link"},
        {"path": "a", "content": "\ud800"},
        {"path": "a", "content": "x" * (limits.SKILL_FILE_BYTES_MAX + 1)},
    ],
    ids=lambda entry: str(entry)[:40],
)
def test_a_file_that_is_not_right_is_refused(entry: Any) -> None:
    with pytest.raises(SkillRefused):
        checked_files(package(entry))


@pytest.mark.parametrize("given", [None, [], {}, {"files": None}, {"files": {}}, {"files": []}])
def test_what_is_no_package_is_refused(given: Any) -> None:
    with pytest.raises(SkillRefused):
        checked_files(given)


def test_too_many_and_too_large_files_are_refused() -> None:
    many = [{"path": f"{n}", "content": ""} for n in range(limits.SKILL_FILES_MAX)]
    with pytest.raises(SkillRefused, match="more than"):
        checked_files(package(*many))
    size = limits.SKILL_FILE_BYTES_MAX
    large = [{"path": f"{n}", "content": "x" * size} for n in range(5)]
    with pytest.raises(SkillRefused, match="it is over"):
        checked_files(package(*large))


@pytest.mark.proves("004-4.7-whole-folder")
def test_a_package_becomes_a_folder_and_its_scripts_can_be_run(tmp_path: Path) -> None:
    files = {
        PurePosixPath("SKILL.md"): b"guide",
        PurePosixPath("scripts/run"): b"#!/bin/sh\necho ran",
        PurePosixPath("scripts/data.json"): b"{}",
    }
    write_folder(files, tmp_path / "new", tmp_path / "pdf")
    assert (tmp_path / "pdf" / "SKILL.md").read_bytes() == b"guide"
    assert (tmp_path / "pdf" / "scripts" / "run").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "pdf" / "scripts" / "data.json").stat().st_mode & 0o777 == 0o644
    assert [path.name for path in tmp_path.iterdir()] == ["pdf"]


def test_a_file_with_the_name_of_a_folder_leaves_nothing_behind(tmp_path: Path) -> None:
    files = {
        PurePosixPath("SKILL.md"): b"guide",
        PurePosixPath("a"): b"file",
        PurePosixPath("a/b"): b"below",
    }
    with pytest.raises(SkillRefused):
        write_folder(files, tmp_path / "new", tmp_path / "pdf")
    assert list(tmp_path.iterdir()) == []
