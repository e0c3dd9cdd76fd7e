"""A session works below the folders that the machine's owner allows, and nowhere else."""

from pathlib import Path
from typing import Any

import pytest

from trunkline.execution.errors import StartFailed
from trunkline.execution.roots import Roots


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    for name in ("workspace/app", "code/app", "elsewhere"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "code" / "way-out").symlink_to(tmp_path / "elsewhere")
    return Roots(tmp_path / "workspace", [tmp_path / "code"])


def test_a_session_that_names_no_folder_works_in_the_workspace(
    roots: Roots, tmp_path: Path
) -> None:
    assert roots.workspace_of(None) == tmp_path / "workspace"
    assert roots.workspace_of("") == tmp_path / "workspace"


def test_folders_below_a_root_are_taken_as_full_paths_or_from_the_workspace(
    roots: Roots, tmp_path: Path
) -> None:
    assert roots.workspace_of(str(tmp_path / "code" / "app")) == tmp_path / "code" / "app"
    assert roots.workspace_of("app") == tmp_path / "workspace" / "app"


@pytest.mark.parametrize(
    "wanted",
    [
        "/",
        "..",
        "../elsewhere",
        "../code/way-out",
        "app/../../elsewhere",
        "missing",
        "a\0b",
        "~nobody-here/x",
        "x" * 300,
        "\ud800",
        7,
        {},
    ],
)
def test_everything_else_is_refused(roots: Roots, wanted: Any) -> None:
    with pytest.raises(StartFailed) as refused:
        roots.workspace_of(wanted)
    assert refused.value.code == "WORKSPACE_REFUSED"


def test_a_path_without_end_is_refused(roots: Roots) -> None:
    with pytest.raises(StartFailed):
        roots.workspace_of("a/" * 5000)
