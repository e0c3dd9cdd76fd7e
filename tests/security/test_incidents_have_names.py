"""The incidents of peers that are tested here say whose they were, and under which number."""

import ast
import re
from pathlib import Path

import pytest

INCIDENTS = sorted(Path(__file__).parent.glob("test_incident_*.py"))
NAME = re.compile(r"(?P<product>\w[\w ]*), (CVE-\d{4}-\d{4,7}|GHSA(-[a-z0-9]{4}){3})\b")


@pytest.mark.parametrize("file", INCIDENTS, ids=lambda one: one.stem)
def test_each_incident_has_the_name_of_its_product_and_its_public_number(file: Path) -> None:
    assert NAME.search(ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "")


def test_the_incidents_are_those_that_were_to_be_looked_at() -> None:
    """Public ones of programs of this kind, each of which would have been possible here."""
    assert [one.stem.removeprefix("test_incident_") for one in INCIDENTS] == [
        "chat_ownership",
        "checkpoint_deserialisation",
        "config_in_a_cloned_folder",
        "redirect_ssrf",
        "unauthenticated_local_server",
        "websocket_origin",
    ]
