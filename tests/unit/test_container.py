"""The container files agree with each other, with the settings, and with what they are made of.

No container runs here: `make lint` has hadolint look at the Containerfile, and its build steps are
those of tests/e2e/package.
"""

import re
from pathlib import Path

import pytest
from compose_spec import PyCompose

from trunkline import names
from trunkline.control.settings import Settings

ROOT = Path(__file__).parents[2]
CONTAINERFILE = (ROOT / "Containerfile").read_text()
COMPOSE = (ROOT / "compose.yaml").read_text()


def last(instruction: str) -> str:
    found: list[str] = re.findall(rf"^{instruction} (.+)$", CONTAINERFILE, re.MULTILINE)
    return found[-1]


def test_the_compose_file_is_one_of_its_specification() -> None:
    found = PyCompose.from_yaml(COMPOSE)
    found.validate_volumes()
    service = found.to_dict()["services"]["trunkline"]
    [volume] = service["volumes"]
    assert str(volume).endswith(last("VOLUME"))
    assert service["build"]["dockerfile"] == "Containerfile"
    [port] = service["ports"]
    assert str(port) == f"127.0.0.1:{last('EXPOSE')}:{last('EXPOSE')}", "nobody else's without TLS"
    assert Settings().port == int(last("EXPOSE"))


@pytest.mark.parametrize("text", ["imag: trunkline", "ports: [everywhere]", "restart: sometimes"])
def test_the_check_sees_a_mistake(text: str) -> None:
    with pytest.raises(ValueError, match=r"services\.trunkline"):
        PyCompose.from_yaml(COMPOSE.replace("image: trunkline", text, 1))


def test_every_setting_that_is_named_exists() -> None:
    named = re.findall(r"\bTRUNKLINE_([A-Z_]+)", CONTAINERFILE + COMPOSE)
    assert {"DATA", "HOST", "PUBLIC_URL"} == set(named)
    assert {name.lower() for name in named} <= set(names.CONTROL)


def test_it_does_not_run_as_root_and_keeps_everything_in_the_volume() -> None:
    assert last("USER") == "10001"
    data = re.search(r"TRUNKLINE_DATA=(\S+)", CONTAINERFILE)
    assert data is not None
    assert Settings(data=data[1]).machines_dir.is_relative_to(last("VOLUME"))


def test_the_image_is_made_of_what_is_there() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert lines[1] == "*"
    taken = [line[1:] for line in lines if line.startswith("!")]
    assert [name for name in taken if not (ROOT / name).exists()] == []
    assert {"src", "pyproject.toml", "hatch_build.py", "requirements.lock"} <= set(taken)
    versions = [
        re.search(r"^(?:ARG )?UV_VERSION(?: := |=)(\S+)$", text, re.MULTILINE)
        for text in (CONTAINERFILE, (ROOT / "Makefile").read_text())
    ]
    assert len({found[1] for found in versions if found}) == 1
    assert all(versions)
