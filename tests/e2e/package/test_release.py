"""What `pip install trunkline` gives: sources without ballast, a wheel, a program that works."""

import asyncio
import json
import os
import re
import sys
import tarfile
import urllib.request
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest
import pytest_asyncio

from tests.e2e.package.conftest import ROOT, UV, Release, fetched, ran
from tests.support.program import plain_environment
from trunkline import __version__

pytestmark = pytest.mark.slow
in_one_loop = pytest.mark.asyncio(loop_scope="module")

_START_S = 60.0  # nothing is compiled yet
_CHAT_S = 120.0
_JUNK = re.compile(
    r"(^|/)(tests?|docs|bench|node_modules|\.programs|\.venv|__pycache__|\.git|\.built)(/|$)"
)


def test_the_sources_build_without_node_and_have_no_ballast(release: Release) -> None:
    with tarfile.open(release.sources) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
        size = sum(one.size for one in archive.getmembers())
    assert [name for name in names if _JUNK.search(name)] == []
    needed = {"pyproject.toml", "hatch_build.py", "LICENSE", "README.md", "CHANGELOG.md"}
    needed |= {"web/dist/index.html", "web/src/main.tsx", "bridge/openclaw/dist/main.js"}
    assert needed <= set(names)
    assert size < 20 * 1024 * 1024


def test_the_wheel_has_the_page_and_the_bridge_and_one_version(release: Release) -> None:
    checked = ran(str(Path(sys.executable).with_name("check-wheel-contents")), str(release.wheel))
    assert checked.returncode == 0, checked.stdout
    with zipfile.ZipFile(release.wheel) as archive:
        names = archive.namelist()
        about = archive.read(f"trunkline-{__version__}.dist-info/METADATA").decode()
    for name in (
        "control/api/page/index.html",
        "execution/runtimes/openclaw/bridge/main.js",
        "execution/llm/local-model.lock",
        "control/store/migrations/versions/records_0001.py",
        "py.typed",
    ):
        assert f"trunkline/{name}" in names
    assert [name for name in names if not name.startswith("trunkline")] == []
    assert f"\nVersion: {__version__}\n" in about


def test_uvx_and_uv_tool_run_the_wheel_and_say_how_to_add_to_it_there(
    release: Release, tmp_path: Path
) -> None:
    """Which of them made an environment is told from what they leave there."""
    env = {"HOME": str(tmp_path), "TRUNKLINE_DATA": str(tmp_path / "data")}
    env |= {"UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    env |= {"UV_CACHE_DIR": ran(*UV, "cache", "dir").stdout.strip()}
    wheel = str(release.wheel)
    once = fetched("tool", "run", "--from", wheel, "trunkline", "doctor", **env)
    assert "fix: uvx --from 'trunkline[runtimes]' trunkline …\n" in once.stdout
    fetched("tool", "install", "--quiet", wheel, **env)
    kept = ran(str(tmp_path / "bin" / "trunkline"), "doctor", **env)
    assert "fix: uv tool install --reinstall 'trunkline[runtimes]'\n" in kept.stdout


class Up(NamedTuple):
    url: str
    env: dict[str, str]
    folder: Path


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def up(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Up]:
    """`trunkline up` of a plain installation."""
    folder = tmp_path_factory.mktemp("up")
    env = plain_environment() | {"HOME": str(folder), "TRUNKLINE_DATA": str(folder / "data")}
    env["PATH"] = os.pathsep.join((str(installed), "/usr/bin", "/bin"))
    with (folder / "log").open("wb") as log:
        server = await asyncio.create_subprocess_exec(
            *("trunkline", "up", "--port", "0", "--no-browser"),
            cwd=folder,
            env=env,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
        )
        try:
            assert server.stdout is not None
            async with asyncio.timeout(_START_S):
                said = (await server.stdout.readline()).decode()
            found = re.search(r"is up at (\S+)", said)
            assert found, (folder / "log").read_text()
            yield Up(found[1], env, folder)
        finally:
            if server.returncode is None:
                server.terminate()
            await server.communicate()


async def command(up: Up, *words: str) -> tuple[int, str, str]:
    """A command of that installation: its exit code and what it wrote."""
    done = await asyncio.create_subprocess_exec(
        *("trunkline", *words),
        cwd=up.folder,
        env=up.env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(_CHAT_S):
        out, err = await done.communicate()
    return done.returncode or 0, out.decode(), err.decode()


@in_one_loop
async def test_a_plain_installation_serves_the_page_and_answers_with_the_demo(up: Up) -> None:
    code, out, err = await command(up, "chat", "list the files here")
    assert (code, "`list_files` gave" in out) == (0, True), out + err
    page = await asyncio.to_thread(_read, up.url)
    assert '<div id="root">' in page
    [script] = re.findall(r'<script type="module"[^>]* src="([^"]+)"', page)
    assert await asyncio.to_thread(_read, up.url + script)


@in_one_loop
async def test_the_containers_health_check_sees_a_server_and_its_absence(up: Up) -> None:
    text = (ROOT / "Containerfile").read_text()
    found = re.search(r"HEALTHCHECK .*?CMD (\[.+?\])$", text, re.MULTILINE | re.DOTALL)
    assert found
    for address, code in ((up.url, 0), ("http://127.0.0.1:9", 1)):
        argv = json.loads(found[1].replace("http://127.0.0.1:8080", address))
        done = await asyncio.create_subprocess_exec(
            *argv, env=up.env, stderr=asyncio.subprocess.DEVNULL
        )
        assert await done.wait() == code


@in_one_loop
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("chat", "--model", "local", "Hello"),
            r"The local model is not installed here: trunkline doctor --install local-model",
        ),
        (
            ("up", "--data", "other", "--database-url", "postgresql://nobody@localhost/x"),
            r"PostgreSQL needs asyncpg, which is not installed: uv pip install '\S+\[postgres\]'",
        ),
        (
            ("doctor", "--install", "opencode"),
            r"Node is not installed here: uv pip install 'trunkline\[runtimes\]'",
        ),
    ],
)
async def test_what_needs_an_extra_says_so_in_one_line(
    up: Up, words: tuple[str, ...], said: str
) -> None:
    code, out, err = await command(up, *words)
    assert code == 1
    told = [line for line in (out + err).splitlines() if line.startswith("error: ")]
    assert len(told) == 1
    assert re.fullmatch(f"error: {said}", told[0])
    assert "Traceback" not in err


@in_one_loop
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("up", "--data", "third", "--port", "0"),
            r"no agents can run here: (.*) \(.*--no-machine.*",
        ),
        (("node",), r"no agents can run here: (.*)"),
        (("doctor",), r"(.*)"),
    ],
)
async def test_an_installation_that_lacks_something_says_so_once_and_starts_nothing(
    up: Up, installed: Path, words: tuple[str, ...], said: str
) -> None:
    """The last one here: what it removes is not put back."""
    removed = ran(*UV, "pip", "uninstall", "--python", str(installed / "python"), "psutil")
    assert removed.returncode == 0
    code, out, err = await command(up, *words)
    assert (code, out) == (1, "")
    [line] = [line for line in err.splitlines() if line.startswith("error: ")]
    found = re.fullmatch(f"error: {said}", line)
    assert found
    assert found[1] == "this installation lacks psutil: uv pip install trunkline"
    assert "Traceback" not in err


def _read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=20) as answer:
        text: str = answer.read().decode()
    return text
