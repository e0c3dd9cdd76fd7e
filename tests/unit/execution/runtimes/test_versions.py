"""Which version a program is."""

from pathlib import Path

import pytest

from tests.support.programs import put_package, put_program
from trunkline.execution.runtimes.versions import Said, asked, of_package, of_python, quick


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo ' v1.2.3 '", Said("1.2.3")),
        ("echo; echo 'Some Program 2026.9.6 (abc)'; echo more", Said("2026.9.6")),
        ("echo 'Some CLI 1.0.102.'", Said("1.0.102")),
        ("echo unnumbered", Said("unnumbered")),
        ("exit 0", Said("")),
        ("printf '\\377\\033[31m'", Said("\ufffd[31m")),
        ("head -c 300000 /dev/zero | tr '\\0' x", Said("x" * 100)),
        ("echo 1.2.3; exit 3", Said(problem="exit code 3")),
        ("echo no library >&2; exit 1", Said(problem="no library")),
        ("kill -9 $$", Said(problem="exit code -9")),
    ],
)
async def test_a_program_is_asked_for_its_version(tmp_path: Path, text: str, said: Said) -> None:
    assert await asked((str(put_program(tmp_path, "thing", text)),)) == said


async def test_a_program_that_does_not_answer_is_ended_with_all_it_started(tmp_path: Path) -> None:
    path = put_program(tmp_path, "thing", "sleep 1000 & exec sleep 1000")
    assert "no answer" in (await asked((str(path),), within_s=0.05)).problem


async def test_a_program_that_cannot_be_started_says_why(tmp_path: Path) -> None:
    path = tmp_path / "thing"
    path.write_text("no program")
    assert (await asked((str(path),))).problem == "Permission denied"
    assert "No such file" in (await asked((str(tmp_path / "none"),))).problem


async def test_a_program_that_is_asked_finds_no_home_of_the_user(tmp_path: Path) -> None:
    path = put_program(tmp_path, "thing", 'ls -A "$HOME" | wc -l; touch "$HOME/first-config"')
    assert await asked((str(path),), env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}) == Said(
        "0"
    )
    assert not (tmp_path / "first-config").exists()


async def test_the_version_of_a_package_is_known_without_starting_it(tmp_path: Path) -> None:
    path = put_package(tmp_path, "thing", "thing", "3.2.1")
    path.write_text("#!/bin/sh\nexit 1\n")
    assert of_package(str(path)) == Said("3.2.1")
    assert await quick((str(path),)) == Said("3.2.1")


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"version": 3}', "[" * 100_000, '{"version": "\\u0000\\n' + "x" * 100 + '"}'],
)
def test_a_package_that_says_nonsense_does_no_harm(tmp_path: Path, content: str) -> None:
    path = put_package(tmp_path, "thing", "thing", "1")
    (path.parent / "package.json").write_text(content)
    found = of_package(str(path))
    assert found is None or found == Said("")


def test_what_is_no_package_has_no_version(tmp_path: Path) -> None:
    assert of_package(str(tmp_path / "program")) is None
    assert of_python("no-such-package-at-all") == ""
    assert of_python("msgspec")
