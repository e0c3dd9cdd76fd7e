"""`trunkline chat` in scripts: what goes to which stream, and how it ends."""

import asyncio
import json
import os
import signal
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import pytest

from tests.terminal.desk import Desk, Turn
from tests.terminal.harness import ENTER, PROGRAM, terminal

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Done(NamedTuple):
    code: int
    out: str
    err: str


async def run(
    desk: Desk,
    *arguments: str,
    text: str = "",
    play: Callable[[Turn, asyncio.subprocess.Process], Awaitable[None]] | None = None,
) -> Done:
    """In a pipe; `play` is what the machine does with the message."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        str(PROGRAM),
        "chat",
        *arguments,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        env={**kept, **desk.env},
    )
    talking = asyncio.create_task(process.communicate(text.encode()))
    if play is not None:
        await play(await desk.turn(text.strip() or arguments[0]), process)
    out, err = await talking
    assert process.returncode is not None
    return Done(process.returncode, out.decode(), err.decode())


async def test_the_answer_alone_is_on_stdout(desk: Desk) -> None:
    async def play(turn: Turn, _: object) -> None:
        await turn.event("tool_call_start", tool_name="bash", tool_input={"command": "ls"})
        await turn.event("tool_call_complete", tool_name="bash", result="files")
        await turn.ask("q", tool_name="bash", tool_input={"command": "rm x"})
        await turn.text("the ", "answer")
        await turn.done()

    done = await run(desk, "-", text="from\nstdin\n", play=play)
    assert (done.code, done.out) == (0, "the answer\n")
    for said in ("session ", "bash", "rm x", "waits for an answer: trunkline session answer q"):
        assert said in done.err


async def test_a_person_is_asked_while_the_answer_goes_into_a_file(desk: Desk) -> None:
    file = desk.folder / "answer.txt"
    command = f"{PROGRAM} chat 'clean up' > {file}"
    async with terminal("-c", command, env=desk.env, program="/bin/sh") as screen:
        turn = await desk.turn("clean up")
        await turn.ask("q-1", tool_name="shell", tool_input={"command": "rm x"})
        await turn.ask("q-2", tool_name="shell", tool_input={"command": "rm y"})
        await screen.until("answer>")
        await desk.client.sessions.answer("q-1", True, session_id=turn.session_id)
        await screen.until(lambda text: text.count("answer>") == 2)
        screen.type("perhaps", ENTER)
        await screen.until("none of the answers")
        screen.type("4 keep it", ENTER)
        given = await desk.answer("q-2")
        assert (given["confirmed"], given["reason"]) == (False, "keep it")
        await turn.text("kept")
        await turn.done()
        assert await screen.ended() == 0
    assert file.read_text() == "kept\n"


async def test_a_turn_that_fails_or_is_cancelled_has_its_own_exit_code(desk: Desk) -> None:
    async def fail(turn: Turn, _: object) -> None:
        await turn.text("half")
        await turn.event("execution_error", error="boom", code="TURN_FAILED")

    async def cancel(turn: Turn, process: asyncio.subprocess.Process) -> None:
        process.send_signal(signal.SIGINT)
        await desk.vm.expect("cancel")
        await turn.event("execution_complete", cancelled=True)

    failed = await run(desk, "try", play=fail)
    assert (failed.code, failed.out) == (1, "half\n")
    assert "boom" in failed.err
    session = failed.err.split()[1]
    done = await run(desk, "again", "--session", session, "--json", play=cancel)
    assert done.code == 130
    ends = [json.loads(line) for line in done.out.splitlines()]
    assert [(one["type"], one["cancelled"]) for one in ends] == [("execution_complete", True)]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--continue", "--session", "x", "hello"), 2, "exclude each other"),
        (("--from-turn", "3", "hello"), 2, "--from-turn needs --fork"),
        (("-",), 1, "no message on stdin"),
        (("--continue", "hello"), 1, "there is no session to go on with"),
    ],
)
async def test_what_cannot_be_is_said(
    desk: Desk, arguments: tuple[str, ...], code: int, says: str
) -> None:
    done = await run(desk, *arguments)
    assert (done.code, done.out) == (code, "")
    assert says in done.err
