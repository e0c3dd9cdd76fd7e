"""A server that sends and does not read: the machine stays within its bounds, and says so."""

import contextlib
import json
from pathlib import Path

from aiohttp import web

from tests.support.eventually import until
from tests.support.foreign_servers import AgpServer, YeaftServer
from tests.unit.execution.ws.foreign.machine import Machine, agp_machine, connected, yeaft_machine
from trunkline.execution.ws.foreign.courier import WIRE_NOW_MAX
from trunkline.execution.ws.foreign.unconfirmed import WIRE_KEPT_MAX


def prompt(prompt_id: str, session_id: str = "s-1") -> str:
    payload = {
        "session_id": session_id,
        "prompt_id": prompt_id,
        "agent_app": "x",
        "content": [{"type": "text", "text": "Hello"}],
    }
    return json.dumps({"msg_id": prompt_id, "method": "session.prompt", "payload": payload})


def fill(machine: Machine) -> None:
    for _ in range(WIRE_KEPT_MAX):
        machine.client.send(b'{"method":"filler","payload":{}}', is_kept=True)
    assert machine.client.is_full


async def until_room(machine: Machine) -> None:
    await until(lambda: machine.client.is_full, lambda full: not full)


class _Deaf(AgpServer):
    """Reads nothing of its first connection, on which it never stops to talk."""

    async def let_in(self, line: web.WebSocketResponse) -> bool:
        if len(self.queries) > 1:
            return True
        self.stop_reading()
        number = 0
        with contextlib.suppress(ConnectionError):
            while True:
                number += 1
                await line.send_str(prompt(f"p-{number}", session_id="/" * 150))
        return False


async def test_the_line_to_a_server_that_does_not_read_ends(tmp_path: Path) -> None:
    async with _Deaf() as server, connected(agp_machine(server, tmp_path)) as machine:
        await server.until(lambda: len(server.queries) > 1, "second connection")
        await server.connected()
        await until_room(machine)
        assert len(server.received) <= WIRE_KEPT_MAX + WIRE_NOW_MAX
        await server.prompt("s-1", "And now?", "p-good")
        assert (await machine.until_told("user_message"))["turn_id"] == "p-good"


async def test_prompts_are_refused_while_too_much_waits_for_the_server(tmp_path: Path) -> None:
    async with AgpServer() as server, connected(agp_machine(server, tmp_path)) as machine:
        await machine.until_online()
        fill(machine)
        machine.client.take(prompt("p-1"))
        answer = await server.answer("p-1")
        assert answer["stop_reason"] == "error"
        assert "wait until the server reads" in answer["error"]
        assert machine.starts == []
        await until_room(machine)
        await server.prompt("s-1", "And now?", "p-2")
        assert (await machine.until_told("user_message"))["turn_id"] == "p-2"


async def test_a_turn_that_was_taken_ends_however_much_waits(tmp_path: Path) -> None:
    async with AgpServer() as server, connected(agp_machine(server, tmp_path)) as machine:
        await server.connected()
        await server.prompt("s-1", "Go.", "p-1")
        await machine.until_told("user_message")
        fill(machine)
        machine.end("s-1", "p-1", "Done.")
        server.cut()
        assert (await server.answer("p-1"))["stop_reason"] == "end_turn"


async def test_turns_that_will_end_count_as_what_waits(tmp_path: Path) -> None:
    async with AgpServer() as server, connected(agp_machine(server, tmp_path)) as machine:
        await machine.until_online()
        for _ in range(WIRE_KEPT_MAX - 1):
            machine.client.send(b'{"method":"filler","payload":{}}', is_kept=True)
        for prompt_id in ("p-1", "p-2"):
            machine.client.take(prompt(prompt_id))
        assert (await server.answer("p-2"))["stop_reason"] == "error"
        assert (await machine.until_told("user_message"))["turn_id"] == "p-1"


async def test_a_message_that_was_refused_so_may_be_said_again_later(tmp_path: Path) -> None:
    async with YeaftServer() as server, connected(yeaft_machine(server, tmp_path)) as machine:
        await server.first("agent_sync_complete")
        for _ in range(WIRE_KEPT_MAX):
            machine.client.send(b'{"type":"filler"}', is_kept=True)
        said = {"conversationId": "c", "text": "Go.", "clientMessageId": "m-1"}
        machine.client.take(json.dumps({"type": "send_message", **said}))
        assert (await server.result("c"))["subtype"] != "success"
        await until_room(machine)
        await server.say("send_message", **said)
        assert (await machine.until_told("user_message"))["message"] == "Go."
