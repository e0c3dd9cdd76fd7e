"""What an answer leaves in a real terminal, after it came in pieces and was drawn many times."""

import pytest
from rich.cells import cell_len

from tests.terminal.desk import Desk
from tests.terminal.harness import CTRL_D, CTRL_O, ENTER

pytestmark = pytest.mark.asyncio(loop_scope="module")

_ANSWER = """\
# A title

Words that wrap **between words**, 中文没有空格也在任意两个字之间断行，标点不会出现在行首。

- one
- two

```python
def long_line(of_code, which_is_not, wrapped_by_us): return True
```

| name | about |
| --- | --- |
| a | short |
"""
_AT_40 = [
    "A title",
    "",
    "Words that wrap between words, 中文没有",
    "空格也在任意两个字之间断行，标点不会出现",
    "在行首。",
    "",
    "• one",
    "• two",
    "",
    "```python",
    "def long_line(of_code, which_is_not, wra",
    "pped_by_us): return True",
    "```",
    "",
    "name  about",
    "────  ─────",
    "a     short",
]


@pytest.mark.parametrize("columns", [40, 120])
async def test_an_answer_in_pieces_leaves_each_line_once_and_none_too_wide(
    desk: Desk, columns: int
) -> None:
    async with desk.chat("go", columns=columns, rows=12) as screen:
        turn = await desk.turn("go")
        for start in range(0, len(_ANSWER), 3):
            await turn.text(_ANSWER[start : start + 3])
        await turn.event("usage", tokens_in=1234, tokens_out=56)
        await turn.done()
        assert await screen.ended() == 0
        shown = screen.text
    lines = shown[shown.index("A title") :].split("\n")
    assert all(cell_len(line) <= columns for line in lines)
    if columns == 40:
        assert lines[: len(_AT_40)] == _AT_40
    assert shown.count("wrapped_by_us" if columns > 40 else "pped_by_us") == 1
    assert shown.count("1.2k tokens in, 56 out") == 1


async def test_a_tool_is_a_line_that_a_key_unfolds(desk: Desk) -> None:
    async with desk.chat() as screen:
        await screen.prompt()
        screen.type("look", ENTER)
        turn = await desk.turn("look")
        screen.type(CTRL_O)
        await screen.until("nothing is folded yet")
        call = {"tool_name": "bash", "tool_call_id": "c"}
        await turn.event("tool_call_start", tool_input={"command": "ls -la"}, **call)
        await turn.event("tool_call_progress", content="first\n", **call)
        await screen.until(lambda text: " bash ls -la · " in text and "\n  first" in text)
        await turn.event("tool_call_complete", result="first\nsecond\n", **call)
        shown = await screen.until("▸ bash ls -la · ")
        await turn.done()
        assert "second" not in shown
        screen.type(CTRL_O)
        await screen.until("\n$ ls -la\nfirst\nsecond\n")
        screen.type(CTRL_D)
        assert await screen.ended() == 0


async def test_what_the_model_thinks_is_faint_and_what_it_says_is_not(desk: Desk) -> None:
    """While it comes, folded, and unfolded."""
    async with desk.chat() as screen:
        await screen.prompt()
        screen.type("why", ENTER)
        turn = await desk.turn("why")
        await turn.event("thinking", content="Let me see. 想一想")
        await screen.until(lambda text: "thinking · " in text and "Let me see. 想一想" in text)
        assert screen.is_faint("thinking · ")
        assert screen.is_faint("Let me see. 想一想")
        await turn.text("Because **it is so**")
        shown = await screen.until("▸ thought · ")
        assert "Let me see." not in shown
        await screen.until("Because it is so")  # still growing, below what is finished
        assert not screen.is_faint("Because it is so")
        await turn.event("usage", tokens_in=5, tokens_out=4)
        await turn.done()
        await screen.until("5 tokens in")
        assert screen.is_faint("▸ thought · ")
        assert not screen.is_faint("Because it is so")
        screen.type("/unfold", ENTER)
        await screen.until("\nLet me see. 想一想")
        assert not screen.is_faint("Because it is so")
        assert screen.is_faint("Let me see. 想一想")
        screen.type(CTRL_D)
        assert await screen.ended() == 0
