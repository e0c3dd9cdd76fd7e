"""The reference pages name everything there is."""

from pathlib import Path

import msgspec
import pytest

from tests.unit.cli.test_help import ALL
from trunkline.control.settings import Settings

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_a_command_is_on_its_page(path: tuple[str, ...]) -> None:
    line = f"| `trunkline {' '.join(path)}` |"
    assert line in (REFERENCE / "cli.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("field", msgspec.structs.fields(Settings), ids=lambda field: field.name)
def test_a_setting_is_on_its_page(field: msgspec.structs.FieldInfo) -> None:
    assert f"| `{field.name}` |" in (REFERENCE / "settings.md").read_text(encoding="utf-8")
