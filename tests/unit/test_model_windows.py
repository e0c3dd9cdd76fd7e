"""How much models read: by name, by an operator's own table."""

import json
from pathlib import Path

import pytest

from trunkline import model_windows
from trunkline.control.errors import TrunklineError
from trunkline.control.settings import load
from trunkline.model_windows import WINDOW_MAX


def test_an_operators_table_stands_over_ours(tmp_path: Path) -> None:
    file = tmp_path / "windows.json"
    file.write_text(json.dumps({"models": {"MyLab-*": 64_000, "gpt-4*": 7_000, "x/big": 9_000}}))
    table = model_windows.over_built_in(model_windows.read(file))
    assert table.of("mylab-7b") == 64_000
    assert table.of("openai/gpt-4o-mini") == 7_000
    assert table.of("claude-sonnet-5-5") == 200_000
    assert table.of("x/big") == 9_000
    assert table.of("y/big") is None
    assert load({"model_windows": str(file)}, {}).model_windows == str(file)


def test_what_a_control_plane_sends_is_taken_where_it_is_a_table() -> None:
    assert model_windows.told({"models": {"gpt-4": 5_000}}).of("gpt-4") == 5_000
    for wrong in (None, 7, {"models": {"gpt-4": "many"}}, {"models": {"gpt-4": WINDOW_MAX + 1}}):
        assert model_windows.told(wrong).of("gpt-4") == 8_192


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "truncated"),
        ('{"models": {"x": 1}}', "512"),
        ('{"models": {"x": "y"}}', "int"),
        ('{"model": {}}', "unknown field"),
        ("{" + " " * 300_000, "bytes"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_with_the_reason(
    tmp_path: Path, content: str, problem: str
) -> None:
    file = tmp_path / "windows.json"
    file.write_text(content)
    with pytest.raises(TrunklineError, match=f"model_windows: .*{problem}"):
        load({"model_windows": str(file)}, {})
    with pytest.raises(TrunklineError, match="cannot be read"):
        load({"model_windows": str(tmp_path / "missing")}, {})
