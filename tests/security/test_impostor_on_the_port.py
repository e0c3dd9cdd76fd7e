"""Found open: after a server was killed, `server.json` still named its port, and the command line
gave the admin's token to whoever listened there next. After a clean stop it went to the usual port,
with the token of the environment. And a server on `::` named an address that is not its own.

`server.json` goes with its server, and a server proves that it has the key of the data folder
before it is shown a token.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from http.client import HTTPException
from pathlib import Path

import aiohttp
import msgspec
import pytest
from aiohttp import web

from tests.support import warm_start
from tests.support.control import ADMIN, ControlProcess, free_port, running
from trunkline.cli.completing import candidates
from trunkline.client import Client, Unreachable, WrongServer
from trunkline.client.locate import find_server
from trunkline.control.ids import new_secret
from trunkline.control.presence import Presence
from trunkline.places import proof_of, read_server_file


class Impostor:
    """Listens on a port that it has no right to, and notes all that it is shown."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.seen: list[str] = []

    async def handle(self, request: web.Request) -> web.Response:
        self.seen.append(f"{request.method} {request.path} {dict(request.headers)}")
        return web.json_response({"proof": "0" * 64, "user": {"id": "x"}, "items": []})

    @property
    def was_shown_a_token(self) -> bool:
        return any("Bearer" in one or "tl_" in one for one in self.seen)


@pytest.fixture
async def impostor() -> AsyncIterator[Impostor]:
    made = Impostor(free_port())
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", made.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", made.port).start()
    yield made
    await runner.cleanup()


def left_behind(folder: Path, port: int) -> dict[str, str]:
    """A data folder as a killed server leaves it; the environment for a command."""
    Presence(folder).announce(f"http://127.0.0.1:{port}")
    (folder / "admin-token").write_text("tl_the-admins-own-token\n")
    env = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return env | {"TRUNKLINE_DATA": str(folder)}


async def ask(url: str, nonce: str) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as http,
        http.post(url + "/proof", json={"nonce": nonce}) as answer,
    ):
        return answer.status, (await answer.json()).get("proof")


async def run(env: dict[str, str], folder: Path, *command: str) -> tuple[int, str]:
    done = await asyncio.to_thread(warm_start.run, command, env, folder)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "command", [("user", "me"), ("chat", "hello"), ("user", "me", "--token", "tl_mine")]
)
async def test_whoever_listens_on_a_dead_servers_port_is_shown_no_token(
    tmp_path: Path, impostor: Impostor, command: tuple[str, ...]
) -> None:
    env = left_behind(tmp_path, impostor.port)
    code, said = await run(env, tmp_path, *command)
    assert code == 1
    assert "is not the server of this data folder" in said
    assert impostor.seen, "it was asked for a proof"
    assert not impostor.was_shown_a_token


@pytest.mark.parametrize("name", ["TRUNKLINE_TOKEN", "TRUNKLINE_ADMIN_TOKEN"])
async def test_whoever_listens_on_the_port_of_a_server_that_has_stopped_is_not_asked(
    tmp_path: Path, impostor: Impostor, name: str
) -> None:
    env = left_behind(tmp_path, impostor.port)
    (tmp_path / "server.json").unlink()
    env |= {name: "tl_of-the-environment", "TRUNKLINE_PORT": str(impostor.port)}
    code, said = await run(env, tmp_path, "user", "me")
    assert code == 1
    assert "no server runs with this data folder (trunkline up), or give --url" in said
    assert impostor.seen == []


async def test_an_address_that_a_person_names_gets_the_token_that_they_name(
    tmp_path: Path, impostor: Impostor
) -> None:
    env = left_behind(tmp_path, impostor.port)
    url = f"http://127.0.0.1:{impostor.port}"
    await run(env, tmp_path, "user", "me", "--url", url, "--token", "tl_mine")
    assert impostor.was_shown_a_token
    assert not any("tl_the-admins" in one for one in impostor.seen)


class Successor:
    """Proves itself on its first connection, as a server does that is then killed: whoever takes
    the port afterwards gets what comes on the connections behind it, and that is noted."""

    def __init__(self, folder: Path) -> None:
        self._key = new_secret("pr")
        self._folder = folder
        self._connections = 0
        self.seen: list[str] = []

    async def __aenter__(self) -> "Successor":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        server = {"url": self.url, "pid": 1, "key": self._key}
        (self._folder / "server.json").write_bytes(msgspec.json.encode(server))
        (self._folder / "admin-token").write_text("tl_the-admins-own-token\n")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        is_true = self._connections == 1
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = int(head.lower().partition("content-length:")[2].split()[0])
            nonce = msgspec.json.decode(await reader.readexactly(length))["nonce"]
            self.seen.append(head)
            proof = proof_of(self._key if is_true else "pr_guessed", nonce, self.url)
            body = msgspec.json.encode({"proof": proof})
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body)
            await writer.drain()
            if not is_true:
                self.seen.append((await reader.read(10_000)).decode())
        except (asyncio.IncompleteReadError, IndexError):
            self.seen.append("no proof was asked for")
        finally:
            writer.close()


async def test_a_proof_counts_for_its_own_connection_alone(tmp_path: Path) -> None:
    """Whoever takes the port behind the proof and before the request is shown nothing."""
    async with Successor(tmp_path) as successor:
        where = find_server(None, None, str(tmp_path), {})
        async with Client(where) as client:
            with pytest.raises(WrongServer):
                await client.get("me")
        assert len(successor.seen) >= 2
        assert not any("tl_the-admins" in one for one in successor.seen)
        assert "no proof was asked for" not in successor.seen


async def test_a_completion_is_asked_for_on_the_connection_that_was_proved(tmp_path: Path) -> None:
    async with Successor(tmp_path) as successor:
        with pytest.raises((HTTPException, ConnectionError)):  # it hangs up, in one way or another
            await asyncio.to_thread(candidates, "agents", "", None, None, str(tmp_path))
        assert successor.seen
        assert not any("tl_the-admins" in one for one in successor.seen)


async def test_a_client_finds_its_server_again_after_a_restart_and_nobody_else(
    tmp_path: Path,
) -> None:
    data, port = tmp_path / "data", free_port()
    async with running(data, port=port):
        where = find_server(None, ADMIN, str(data), {})
        client = Client(where)
        mine = await client.get("me")
    with pytest.raises(Unreachable):
        await client.get("me")
    async with running(data, port=port):
        assert await client.get("me") == mine  # though its key is another one now
        many = await asyncio.gather(*(client.get("me") for _ in range(20)))
        assert many == [mine] * 20
    await client.close()


def test_a_proof_is_for_one_question_one_address_and_one_key() -> None:
    proofs = {
        proof_of(key, nonce, url)
        for key in ("pr_a", "pr_b")
        for nonce in ("n" * 20, "m" * 20)
        for url in ("http://127.0.0.1:1", "http://127.0.0.1:2")
    }
    assert len(proofs) == 8


async def test_the_file_goes_with_its_server_and_a_killed_one_has_a_new_key(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    server = ControlProcess(data)
    await server.start()
    first = read_server_file(data)
    assert first is not None
    assert first.pid == server.process.pid
    nonce = "a-nonce-of-some-length"
    assert await ask(server.url, nonce) == (200, proof_of(first.key, nonce, first.url))
    for nonce in ("", "short", "x" * 300, "line\nbreak-line-break"):
        assert (await ask(server.url, nonce))[0] == 400
    await server.kill()
    assert (data / "server.json").exists()
    await server.start()
    second = read_server_file(data)
    assert second is not None
    assert second.key != first.key
    await server.terminate()
    assert not (data / "server.json").exists()


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "::1", "::"])
async def test_a_server_names_an_address_at_which_nobody_else_can_listen(
    tmp_path: Path, host: str
) -> None:
    if ":" in host and not has_ipv6():
        pytest.skip("this host has no IPv6")
    async with running(tmp_path / "data", host=host):
        named = read_server_file(tmp_path / "data")
        assert named is not None
        nonce = "a-nonce-of-some-length"
        assert await ask(named.url, nonce) == (200, proof_of(named.key, nonce, named.url))


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def test_the_file_of_another_server_stays(tmp_path: Path) -> None:
    old, new = Presence(tmp_path), Presence(tmp_path)
    old.announce("http://127.0.0.1:1")
    new.announce("http://127.0.0.1:2")
    old.withdraw()
    kept = read_server_file(tmp_path)
    assert kept is not None
    assert kept.url == "http://127.0.0.1:2"
    (tmp_path / "server.json").write_text("{")
    new.withdraw()  # damaged: nobody's
    with pytest.raises(msgspec.DecodeError):
        read_server_file(tmp_path)
    assert "pr_" not in repr(kept)
