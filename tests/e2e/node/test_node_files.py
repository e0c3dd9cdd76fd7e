"""Files of a person on their way to a model: uploaded, named by a message, read on the machine."""

import base64
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.control import Control
from tests.support.model_server import ModelServer, Turn
from tests.support.node import World
from tests.support.pictures import picture
from trunkline import limits
from trunkline.client import ApiError, Client
from trunkline.control.services.uploads import BYTES_MAX

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory, control: Control) -> AsyncIterator[World]:
    home = tmp_path_factory.mktemp("files") / "home"
    async with ModelServer() as model, World(control, model, home) as world:
        yield world


@pytest_asyncio.fixture(loop_scope="module")
async def client(world: World) -> AsyncIterator[Client]:
    async with Client(world.control.url, world.user.token) as client:
        yield client


def file_of(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", ["gpt-scripted", "claude-scripted"])
async def test_uploaded_files_reach_the_model_and_the_machine(
    world: World, client: Client, tmp_path: Path, name: str
) -> None:
    world.model.script(Turn(text="Red."))
    dot, notes = picture(), b"buy milk"
    files = [file_of(tmp_path, "dot.png", dot), file_of(tmp_path, "notes.txt", notes)]
    async with await world.session(agent={"model": name}) as talk:
        ids = await client.sessions.upload(files)
        send = client.sessions.send
        turn_id = await send(talk.id, "Look.", client_message_id="m1", attachment_ids=ids)
        # Said again after a lost answer: the files were taken, and nothing happens.
        assert turn_id == await send(talk.id, "Look.", client_message_id="m1", attachment_ids=ids)
        assert (await talk.end_of(turn_id))["content"] == "Red."
        with pytest.raises(ApiError, match="file"):
            await send(talk.id, "Again.", attachment_ids=ids)
        [said] = talk.events("user_message")
    assert said["attachments"] == [
        {"name": "dot.png", "mime": "image/png"},
        {"name": "notes.txt", "mime": "text/plain"},
    ]
    asked = world.model.requests[-1]
    assert asked.images == [base64.b64encode(dot).decode()]
    [kept] = [Path(word) for word in asked.prompt.split() if word.endswith("notes.txt")]
    assert kept.read_bytes() == notes


async def test_files_that_are_too_much_or_anothers_are_refused(
    world: World, client: Client, tmp_path: Path
) -> None:
    async with await world.session() as talk:
        huge = file_of(tmp_path, "huge", bytes(BYTES_MAX + 1))
        with pytest.raises(ApiError, match="larger than"):
            await client.sessions.upload([huge])
        half = file_of(tmp_path, "half", bytes(BYTES_MAX // 2 + 10))
        ids = await client.sessions.upload([half, half])
        with pytest.raises(ApiError, match="together"):
            await client.sessions.send(talk.id, "Both.", attachment_ids=ids)
        other = await world.control.user("eve")
        async with Client(world.control.url, other.token) as stranger:
            [anothers] = await stranger.sessions.upload([file_of(tmp_path, "own", b"x")])
        for wrong in ([anothers], ["no-such-file"], ["x"] * (limits.ATTACHMENTS_MAX + 1)):
            with pytest.raises(ApiError):
                await client.sessions.send(talk.id, "Mine?", attachment_ids=wrong)
        broken = {"message": "x", "attachment_ids": ids[:1], "metadata": {"attachments": 7}}
        status, _ = await world.user.call("POST", f"/sessions/{talk.id}/messages", broken)
        assert status == 400
        assert talk.events("user_message") == []
