"""A skill folder becomes a package."""

import io
import zipfile
from pathlib import Path

import pytest

from trunkline import limits
from trunkline.cli.output import CommandFailed
from trunkline.cli.resources import packed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    skill = tmp_path / "skill"
    (skill / "scripts").mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: x\n---\n")
    (skill / "scripts" / "run.sh").write_text("echo\n")
    (skill / "scripts" / "run.sh").chmod(0o755)
    return skill


def test_a_folder_is_packed_with_its_relative_paths(folder: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(packed(folder))) as archive:
        assert archive.namelist() == ["SKILL.md", "scripts/run.sh"]
        assert archive.read("scripts/run.sh") == b"echo\n"


def test_the_same_folder_is_always_the_same_package(folder: Path) -> None:
    before = packed(folder)
    (folder / "SKILL.md").touch()
    assert packed(folder) == before


def test_a_link_is_refused_with_its_name(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "private").write_text("secret")
    (folder / "link").symlink_to(tmp_path / "private")
    with pytest.raises(CommandFailed, match="link is a link"):
        packed(folder)


def test_a_zip_is_sent_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"PK...")
    assert packed(tmp_path / "x.zip") == b"PK..."


def test_a_folder_that_is_no_skill_is_not_even_read(tmp_path: Path) -> None:
    (tmp_path / "large").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(CommandFailed, match="is no skill"):
        packed(tmp_path)


def test_what_is_missing_or_too_much_is_refused_before_anything_is_sent(
    folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(CommandFailed, match="cannot read"):
        packed(tmp_path / "nothing")
    for number in range(limits.SKILL_FILES_MAX):
        (folder / f"{number}").touch()
    with pytest.raises(CommandFailed, match="more than"):
        packed(folder)
