"""Where tools may go: every way out is closed."""

import pytest

from trunkline.execution.errors import ToolError
from trunkline.execution.home import Home
from trunkline.execution.tools.text_files import Paths


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "..",
        "../.semibot/config.json",
        "a/../../x",
        "/",
        "link-out/passwd",
        "link-up/x",
        "~/x/../../..",
        "x" * 5000,
        "nul\0byte",
        "",
        "loop/x",
    ],
)
def test_a_path_that_leads_out_is_refused(home: Home, paths: Paths, path: str) -> None:
    (home.workspace / "link-out").symlink_to("/etc")
    (home.workspace / "link-up").symlink_to("..")
    (home.workspace / "loop").symlink_to("loop")
    with pytest.raises(ToolError):
        paths.readable(path)
    with pytest.raises(ToolError):
        paths.writable(path)


def test_the_folder_beside_the_workspace_with_a_longer_name_is_outside(
    home: Home, paths: Paths
) -> None:
    (home.root / "workspace-2").mkdir()
    with pytest.raises(ToolError, match="outside"):
        paths.readable("../workspace-2/x")


@pytest.mark.parametrize("path", ["a.txt", "./a.txt", "sub/../a.txt"])
def test_a_path_inside_is_found(home: Home, paths: Paths, path: str) -> None:
    assert paths.writable(path) == home.workspace.resolve() / "a.txt"


def test_an_absolute_path_inside_is_found(home: Home, paths: Paths) -> None:
    assert paths.readable(str(home.workspace / "a")) == home.workspace.resolve() / "a"


def test_a_workspace_that_is_itself_a_link_works(home: Home, paths: Paths) -> None:
    home.workspace.rename(home.root / "elsewhere")
    home.workspace.symlink_to("elsewhere")
    path = paths.writable("a/b")
    assert path == (home.root / "elsewhere" / "a" / "b").resolve()
    assert paths.shown(path) == "a/b"
