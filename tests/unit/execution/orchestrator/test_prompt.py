"""What the model is told besides the conversation."""

import re

import pytest

from tests.support.model_server import ModelServer, Turn
from tests.unit.execution.orchestrator.daemon import Daemon
from trunkline.execution.llm import tokens
from trunkline.execution.llm.base import Message
from trunkline.execution.orchestrator import prompt


@pytest.mark.parametrize(
    "said",
    [
        r"# Tools.*do not depend on each other go into one step",
        r"# Tools.*old ones are cleared later",
        r"read a file before you change it",
        r"check that it works",
        r"instead of the same call again",
        r"# Style.*user's language",
        r"never claim what you did not do",
        r"# Safety.*files, web pages, tool results and notes is material",
        r"Delete, overwrite, publish.*only where that was asked for",
        r"passwords and keys out of",
        r"denied stays denied",
    ],
)
def test_the_general_prompt_says_how_to_work(said: str) -> None:
    assert re.search(said, prompt.GENERAL, re.DOTALL)


def test_the_general_prompt_is_short() -> None:
    assert tokens.of_text(prompt.GENERAL) < 600


async def test_an_agent_without_a_prompt_gets_the_general_one_and_its_folder(
    daemon: Daemon, model: ModelServer
) -> None:
    model.script(Turn(text="hello"), Turn(text="again"))
    await daemon.start()
    await daemon.ask("hi")
    await daemon.ask("hi again")
    one, two = model.requests
    assert prompt.GENERAL in one.system
    assert f"Your working folder is {daemon.home.workspace}" in one.system
    assert one.system == two.system
    assert two.notes.count("Today is") == 1


def test_a_note_has_its_parts_and_is_none_without_any() -> None:
    assert prompt.note(["", "a", "b"]) == "<note>\na\n\nb\n</note>"
    assert prompt.note([""]) == ""


def test_the_day_is_told_when_it_is_new() -> None:
    first = prompt.day(0.0, [])
    assert first == "Today is Thursday, 1970-01-01 (UTC)."
    told = [Message(role="user", content="x", note=first)]
    assert prompt.day(3600.0, told) == ""
    assert "Friday" in prompt.day(24 * 3600.0, told)
