"""A screen as a picture: what is on it, in its colours, with text that stays text."""

from xml.etree import ElementTree

import pyte
import pytest

from tests.terminal.picture import THEMES, Screen, svg


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_screen_is_drawn_as_text_in_its_colours(scheme: str) -> None:
    screen = Screen(20, 6, history=0)
    shown = "\r\n\x1b[31mred\x1b[0m \x1b[2mfaint\x1b[22m <b>\r\n中文  \x1b[1mbold\x1b[0m"
    pyte.Stream(screen).feed(shown)
    theme = THEMES[scheme]
    drawn = ElementTree.fromstring(svg(screen, "a & b", theme))
    texts = [one for one in drawn if one.tag.endswith("text")]
    assert [one.text for one in texts] == ["a & b", "red", "faint", "<b>", "中", "文", "bold"]
    assert [one.get("fill") for one in texts[1:4]] == [theme.colours["red"], theme.dim, theme.text]
    assert texts[-1].get("font-weight") == "bold"
    assert len({one.get("y") for one in texts}) == 3
