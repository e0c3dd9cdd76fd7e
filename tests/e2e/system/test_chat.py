"""A conversation as the terminal holds it, over a real server with a scripted machine."""

import asyncio
import os
import pty
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.control import Control, TestUser
from tests.support.vm import ScriptedVm
from trunkline import limits
from trunkline.cli import chat
from trunkline.cli.conversation import Answer, Conversation
from trunkline.client import Client, Event

pytestmark = pytest.mark.asyncio(loop_scope="module")

BOUND_S = 60


class Desk:
    """A user at a terminal, and the machine that their session runs on."""

    def __init__(self, user: TestUser, vm: ScriptedVm, client: Client) -> None:
        self.user, self.vm, self.client = user, vm, client
        self.shown: list[Event] = []
        self.questions: list[Event] = []
        self.answer: bool | None = True

    async def talk(self) -> tuple[str, Conversation]:
        session = await self.client.sessions.create()
        return session.id, Conversation(self.client, session, self.shown.append, self.ask)

    def ask(self, event: Event) -> Answer | None:
        self.questions.append(event)
        return None if self.answer is None else Answer(self.answer)

    async def heard(self, text: str) -> None:
        """Waits until the machine was told that."""
        await self.vm.expect("user_message", lambda message: message["data"]["message"] == text)

    async def finish(self, session_id: str, text: str = "done") -> None:
        await self.vm.event(session_id, type="execution_complete", content=text)

    @property
    def types(self) -> list[str]:
        return [event.type for event in self.shown]


@pytest_asyncio.fixture(loop_scope="module")
async def desk(control: Control) -> AsyncIterator[Desk]:
    user = await control.user()
    async with await user.vm() as vm, Client(control.url, user.token) as client:
        yield Desk(user, vm, client)


async def test_turns_follow_each_other_and_nothing_is_shown_twice(desk: Desk) -> None:
    async with asyncio.timeout(BOUND_S):
        session_id, talk = await desk.talk()
        for number in range(3):
            turn = asyncio.create_task(talk.turn(f"question {number}"))
            await desk.heard(f"question {number}")
            await desk.vm.text(session_id, f"answer {number}")
            await desk.finish(session_id)
            assert await turn is True
        await talk.close()
    assert desk.types == ["text_chunk", "execution_complete"] * 3
    ids = [event.id for event in desk.shown if event.id is not None]
    assert ids == sorted(set(ids))


@pytest.mark.parametrize("answer", [True, False])
async def test_a_question_is_asked_here_and_the_answer_reaches_the_machine(
    desk: Desk, answer: bool
) -> None:
    desk.answer = answer
    async with asyncio.timeout(BOUND_S):
        session_id, talk = await desk.talk()
        turn = asyncio.create_task(talk.turn("delete it"))
        await desk.vm.expect("user_message")
        await desk.vm.event(
            session_id, type="approval_request", request_id="q-1", tool_name="shell"
        )
        given = await desk.vm.expect("approval_response")
        assert (given["data"]["request_id"], given["data"]["confirmed"]) == ("q-1", answer)
        await desk.finish(session_id)
        assert await turn is True
        await talk.close()
    assert [event.data["request_id"] for event in desk.questions] == ["q-1"]
    assert "approval_resolved" in desk.types


@pytest.mark.parametrize("key", ["request_id", "approval_id"])
async def test_a_question_goes_by_either_name_and_is_answered_in_its_own_session(
    desk: Desk, key: str
) -> None:
    """Machines number their questions per session: another session may ask under the same id."""
    async with asyncio.timeout(BOUND_S):
        other, _ = await desk.talk()
        session_id, talk = await desk.talk()
        await desk.vm.event(other, None, **{"type": "approval_request", key: "q-1"})
        turn = asyncio.create_task(talk.turn("delete it"))
        await desk.vm.expect("user_message")
        await desk.vm.event(session_id, None, **{"type": "approval_request", key: "q-1"})
        given = await desk.vm.expect("approval_response")
        assert given["session_id"] == session_id
        await desk.finish(session_id)
        assert await turn is True
        await talk.close()
        waiting = await desk.client.sessions.approvals()
    assert [approval.session_id for approval in waiting] == [other]


@pytest.mark.parametrize("key", ["request_id", "approval_id"])
async def test_without_a_terminal_the_command_that_answers_is_shown(
    key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    event = Event(id=1, data={"type": "approval_request", key: "q 1;\x1b[2J"})
    assert chat.ask("s-1", event) is None
    assert "session answer 'q 1;\\x1b[2J' --session s-1 --yes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("input", '--yes --answer "…"\n'),
        ("select", '--yes --answer "…"\n'),
        ("confirm", "--yes\n"),
        (None, "--yes\n"),
    ],
    ids=["input", "select", "confirm", "nothing said"],
)
async def test_the_command_for_a_question_that_wants_text_has_a_place_for_it(
    kind: str | None, answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    chat.ask("s-1", Event(1, {"type": "approval_request", "request_id": "q", "kind": kind}))
    assert capsys.readouterr().err.endswith(answer)


async def test_a_cancel_that_fails_is_said(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    async with asyncio.timeout(BOUND_S):
        session = await desk.client.sessions.create()
        async with Client(desk.client.http.url, "tl_not-a-token") as stranger:
            talk = Conversation(stranger, session, desk.shown.append, desk.ask)
            await chat.cancel(talk)
            await talk.close()
    assert "could not cancel: " in capsys.readouterr().err


async def test_a_question_that_somebody_else_answered_is_no_error(desk: Desk) -> None:
    async with asyncio.timeout(BOUND_S):
        session_id, talk = await desk.talk()
        await desk.vm.event(session_id, type="approval_request", request_id="q-2")
        while not await desk.client.sessions.approvals(session_id):
            await asyncio.sleep(0.01)
        await desk.client.sessions.answer("q-2", False)
        turn = asyncio.create_task(talk.turn("go on"))
        await desk.vm.expect("user_message")
        await desk.finish(session_id)
        assert await turn is True
        await talk.close()
    assert len(desk.questions) == 1


async def test_what_the_ring_no_longer_holds_comes_from_the_log(desk: Desk) -> None:
    """The terminal was away for more events than a replay holds: none of them is lost."""
    count = limits.RING_EVENTS + 200
    async with asyncio.timeout(BOUND_S):
        session_id, talk = await desk.talk()
        await desk.client.sessions.send(session_id, "count")
        await desk.vm.expect("user_message")
        await desk.vm.text(session_id, *(str(number) for number in range(count)))
        while (await desk.client.sessions.get(session_id)).last_event_id < count:
            await asyncio.sleep(0.01)
        turn = asyncio.create_task(talk.turn("and on"))
        await desk.heard("and on")
        await desk.finish(session_id, "first")
        await desk.finish(session_id, "second")
        await turn
        await talk.close()
    texts = [event.data["content"] for event in desk.shown if event.type == "text_chunk"]
    assert texts == [str(number) for number in range(count)]
    assert "resync" in desk.types


async def test_a_failed_turn_is_told_apart(desk: Desk) -> None:
    async with asyncio.timeout(BOUND_S):
        session_id, talk = await desk.talk()
        turn = asyncio.create_task(talk.turn("fail"))
        await desk.vm.expect("user_message")
        await desk.vm.event(session_id, type="execution_error", error="boom")
        assert await turn is False
        await talk.close()


async def test_a_person_at_a_terminal_chats_allows_and_cancels(desk: Desk) -> None:
    """The program itself on a real terminal: prompt, question, Ctrl-C, end of input."""
    async with terminal(desk, "chat") as (screen, process):
        await screen.until("> ")
        screen.type("first\n")
        message = await desk.vm.expect("user_message")
        session_id = message["session_id"]
        await desk.vm.event(
            session_id,
            type="approval_request",
            request_id="q",
            tool_name="shell",
            tool_input={"command": f"echo {'x' * 500}\necho \u202e && rm -r ."},
        )
        await screen.until("echo \\u202e && rm -r .")  # to its last character
        await screen.until("allow shell? [y/N/session, or n and why]")
        screen.type("y\n")
        await screen.until("allowed")
        await desk.vm.text(session_id, "the answer")
        await desk.finish(session_id)
        await screen.until("the answer")
        await screen.until("> ")
        screen.type("second\n")
        await desk.heard("second")
        screen.type("\x03")
        await desk.vm.expect("cancel")
        await desk.vm.event(session_id, type="execution_complete", cancelled=True)
        await screen.until("(cancelled)")
        await screen.until("> ")
        screen.type("\x04")
        assert await process.wait() == 0


async def test_what_is_typed_while_an_answer_runs_is_said_to_that_turn(control: Control) -> None:
    user = await control.user()
    vm = await user.vm("seq", "steer")
    async with Client(control.url, user.token) as client:
        desk = Desk(user, vm, client)
        async with terminal(desk, "chat", "count") as (screen, process):
            turn = (await vm.expect("user_message"))["data"]["turn_id"]
            screen.type("faster\n")
            steer = await vm.expect("steer")
            assert (steer["data"]["message"], steer["data"]["steers"]) == ("faster", turn)
            session_id, message_id = steer["session_id"], steer["data"]["message_id"]
            await screen.until("↳ faster (for the next step)")
            taken = {"type": "steer_taken", "turn_id": turn, "message_id": message_id}
            await vm.event(session_id, 1, **taken)
            screen.type("and louder\n")
            late = (await told(vm, "steer", "and louder"))["data"]["message_id"]
            await screen.until("↳ and louder (for the next step)")
            await vm.event(session_id, 2, type="execution_complete", content="", turn_id=turn)
            await screen.until("↳ that turn has ended: it is a turn of its own now")
            again = await told(vm, "user_message", "and louder")
            assert again["data"]["turn_id"] == late
            await vm.event(session_id, 3, type="text_chunk", content="LOUD", turn_id=late)
            await vm.event(session_id, 4, type="execution_complete", content="", turn_id=late)
            await screen.until("LOUD")
            assert await process.wait() == 0
    await vm.drop()


async def told(vm: ScriptedVm, kind: str, text: str) -> dict[str, Any]:
    return await vm.expect(kind, lambda message: message["data"]["message"] == text)


@asynccontextmanager
async def terminal(
    desk: Desk, *arguments: str
) -> AsyncIterator[tuple["Screen", asyncio.subprocess.Process]]:
    program = Path(sys.executable).parent / "trunkline"
    leader, follower = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        program,
        *(*arguments, "--url", desk.client.http.url, "--token", desk.user.token),
        stdin=follower,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
        preexec_fn=_take_terminal,
    )
    os.close(follower)
    screen = Screen(leader)
    try:
        async with asyncio.timeout(BOUND_S):
            yield screen, process
    finally:
        screen.close()
        if process.returncode is None:
            process.kill()
            await process.wait()


def _take_terminal() -> None:
    """Makes the pseudo terminal the one that Ctrl-C comes from."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Screen:
    """What a terminal shows, and its keyboard."""

    def __init__(self, leader: int) -> None:
        self._leader = leader
        self._text = ""
        self._news = asyncio.Event()
        asyncio.get_running_loop().add_reader(leader, self._read)

    def _read(self) -> None:
        try:
            self._text += os.read(self._leader, 65536).decode("utf-8", "replace")
        except OSError:  # the program has closed its end
            asyncio.get_running_loop().remove_reader(self._leader)
        self._news.set()

    async def until(self, wanted: str) -> None:
        """Waits for that text and takes everything up to it off the screen."""
        while wanted not in self._text:
            self._news.clear()
            await self._news.wait()
        self._text = self._text.split(wanted, 1)[1]

    def type(self, keys: str) -> None:
        os.write(self._leader, keys.encode())

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._leader)
        os.close(self._leader)
