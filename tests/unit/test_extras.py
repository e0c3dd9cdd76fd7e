"""What an installation lacks is said in one line, with the command that fits how it was made."""

import importlib.metadata
from pathlib import Path

import pytest

from trunkline import extras
from trunkline.cli.doctor_local_model import installer
from trunkline.cli.output import CommandFailed

_UV = "home = /usr/bin\nuv = 0.13.7\n"


@pytest.mark.parametrize(
    ("files", "place", "command"),
    [
        ({}, "venv", "pip install 'trunkline[postgres]'"),
        ({"pyvenv.cfg": "home = /usr/bin\n"}, "venv", "pip install 'trunkline[postgres]'"),
        ({"pyvenv.cfg": _UV}, "venv", "uv pip install 'trunkline[postgres]'"),
        (
            {"pyvenv.cfg": _UV, "lib/python3.12/site-packages/pip/__init__.py": ""},
            "venv",
            "pip install 'trunkline[postgres]'",
        ),
        ({"pipx_metadata.json": "{}"}, "pipx", "pipx inject trunkline 'asyncpg~=0.32.0'"),
        (
            {"pyvenv.cfg": _UV, "uv-receipt.toml": ""},
            "tools/trunkline",
            "uv tool install --reinstall 'trunkline[postgres]'",
        ),
        (
            {"pyvenv.cfg": _UV},
            "uv/archive-v0/x1",
            "uvx --from 'trunkline[postgres]' trunkline …",
        ),
    ],
)
def test_an_extra_is_added_by_what_made_the_installation(
    tmp_path: Path, files: dict[str, str], place: str, command: str
) -> None:
    prefix = tmp_path / place
    for name, text in files.items():
        (prefix / name).parent.mkdir(parents=True, exist_ok=True)
        (prefix / name).write_text(text)
    installed = prefix / "lib/python3.12/site-packages/trunkline/extras.py"
    assert extras.fix("postgres", prefix, installed) == command


def test_a_checkout_has_all_of_it_after_make_install(tmp_path: Path) -> None:
    assert extras.fix("postgres", tmp_path) == "make install"


def test_the_extra_all_is_all_of_them_and_a_plain_installation_lacks_nothing() -> None:
    some = ("cluster", "embeddings", "local-model", "postgres", "runtimes")
    assert set(extras.packages("all")) == {one for name in some for one in extras.packages(name)}
    assert extras.packages("node") == []
    assert extras.problem() is None


def test_what_is_not_there_is_named_and_not_at_length() -> None:
    def version(name: str) -> str:
        if name in ("psutil", "aiohttp", "langgraph", "mcp", "openai", "pypdf"):
            raise importlib.metadata.PackageNotFoundError(name)
        return "1"

    said = "this installation lacks aiohttp, langgraph, mcp, openai and 2 more: make install"
    assert extras.problem(version) == said


def test_the_local_model_is_installed_by_pip_or_by_uv_or_not_at_all(tmp_path: Path) -> None:
    uv = tmp_path / "uv"
    uv.touch(0o700)
    pip = ["py", "-m", "pip", "install", "--disable-pip-version-check"]
    by_uv = [str(uv), "pip", "install", "--python", "py"]
    assert installer({}, has_pip=True, python="py") == pip
    assert installer({"PATH": str(tmp_path)}, has_pip=False, python="py") == by_uv
    with pytest.raises(CommandFailed, match="neither pip nor uv"):
        installer({"PATH": str(tmp_path / "empty")}, has_pip=False)
