"""Found open: whoever had a login could fill the databases with sessions, agents, memories, skills
and snapshots, and with tokens. Each has a bound per user (skills: per org), and the error says what
to do."""

import asyncio
import io
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from tests.support.control import LocalControl, TestUser, running
from tests.support.eventually import eventually
from tests.support.myagent import client_of
from tests.support.orgs import admin_of_new_org
from tests.support.yeaft_web import web_of, web_url
from trunkline.control.errors import LimitReached
from trunkline.control.tuning import Tuning

pytestmark = pytest.mark.asyncio(loop_scope="module")

SMALL: dict[str, Any] = {
    "quota_sessions": 2,
    "quota_agents": 2,
    "quota_memories": 2,
    "quota_snapshot_bytes": 1_000,
    "quota_skill_bytes": 1_000,
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def control(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LocalControl]:
    async with running(
        tmp_path_factory.mktemp("control") / "data", tuning=Tuning(tokens_per_user_max=2), **SMALL
    ) as control:
        yield control


async def refused(user: TestUser, path: str, body: Any, code: str = "QUOTA_REACHED") -> bool:
    """With the code and the words that say what to do."""
    status, answer = await user.call("POST", path, body)
    return (status, answer["error"]["code"]) == (429, code) and (
        "first" in answer["error"]["message"]
    )


@pytest.mark.parametrize(
    ("path", "body"),
    [("/agents", {"name": "a"}), ("/memories", {"content": "the cat is called Tom"})],
)
async def test_nobody_keeps_more_records_than_there_is_room_for(
    control: LocalControl, path: str, body: dict[str, Any]
) -> None:
    user, other = await control.user("ada"), await control.user("bob")
    made = [await user.ok("POST", path, body) for _ in range(2)]
    assert await refused(user, path, body)
    await other.ok("POST", path, body)  # who is none the worse for it
    await user.ok("DELETE", f"{path}/{made[0]['id']}")
    await user.ok("POST", path, body)


async def test_nobodys_connections_keep_the_others_out(tmp_path: Path) -> None:
    """Streams of a session, MyAgent and Yeaft clients and REST count together; machines do not."""
    async with running(tmp_path / "data", connections_per_user_max=3) as control:
        ada, bob = await control.user("ada"), await control.user("bob")
        async with await ada.vm():
            session = await ada.session()  # on a connection of its own, which is closed by now
            page = web_of(ada)
            async with ada.reader(session), client_of(ada) as client, page:
                await client.answered()
                await page.expect("auth_result")
                status, answer = await ada.call("GET", "/me")
                assert (status, answer["error"]["code"]) == (429, "LIMIT_REACHED")
                assert "close some first" in answer["error"]["message"]
                async with aiohttp.ClientSession() as http:
                    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                        await http.ws_connect(f"{control.url}/ws/myagent?token={ada.token}")
                    assert refused.value.status == 429
                    async with http.ws_connect(web_url(ada)) as another:
                        while (await another.receive()).type is aiohttp.WSMsgType.TEXT:
                            pass
                        assert another.close_code == 4029
                await bob.ok("GET", "/me")  # who is none the worse for it

            async def again() -> bool:
                return bool((await ada.call("GET", "/me"))[0] == 200)

            await eventually(again)


@pytest.mark.parametrize("kind", ["token", "login-link"])
async def test_nobody_has_more_tokens_or_login_links_than_there_is_room_for(
    control: LocalControl, kind: str
) -> None:
    user, other = await control.user(), await control.user()
    path = f"/users/{user.id}/{kind}"
    for _ in range(1 if kind == "token" else 2):  # they have a token already
        await user.ok("POST", path)
    assert await refused(user, path, None, "LIMIT_REACHED")
    await other.ok("POST", f"/users/{other.id}/{kind}")


async def test_nobody_has_more_open_sessions_than_there_is_room_for(control: LocalControl) -> None:
    user = await control.user()
    async with await user.vm():
        first = await user.session()
        await user.session()
        assert await refused(user, "/sessions", {})
        await user.ok("DELETE", f"/sessions/{first}")
        await user.session()


async def test_of_many_sessions_at_the_same_moment_so_many_are_made_as_there_is_room_for(
    control: LocalControl,
) -> None:
    user = await control.user()
    async with await user.vm():
        answers = await asyncio.gather(*(user.call("POST", "/sessions", {}) for _ in range(8)))
    assert sorted(status for status, _ in answers) == [201] * 2 + [429] * 6


async def test_snapshots_of_closed_sessions_make_room_and_those_of_open_ones_do_not(
    control: LocalControl,
) -> None:
    user = await control.user()
    snapshots = control.core.services.snapshots
    large = {"text": "x" * 600}
    async with await user.vm() as vm:
        first, second = await user.session(), await user.session()
        await snapshots.sync(first, large)
        with pytest.raises(LimitReached, match="close sessions first"):
            await snapshots.sync(second, large)
        assert await snapshots.latest(second) is None
        await user.ok("DELETE", f"/sessions/{first}")
        await vm.expect("stop_session")
        await snapshots.sync(second, large)
        assert await snapshots.latest(second) == large


async def test_an_org_keeps_no_more_bytes_of_skills_than_there_is_room_for(
    control: LocalControl,
) -> None:
    boss = await admin_of_new_org(control, "small")

    async def upload(name: str) -> tuple[int, Any]:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            head = f"---\nname: {name}\ndescription: d\nversion: 1.0.0\n---\n"
            archive.writestr("SKILL.md", head + "x" * 600)
        headers = {"Authorization": f"Bearer {boss.token}", "Content-Type": "application/zip"}
        async with aiohttp.ClientSession() as http:
            url = f"{control.url}/api/v1/skills"
            async with http.post(url, data=packed.getvalue(), headers=headers) as answer:
                return answer.status, await answer.json()

    assert (await upload("one"))[0] < 300
    status, answer = await upload("two")
    assert (status, answer["error"]["code"]) == (429, "QUOTA_REACHED")


async def test_who_has_stored_too_much_is_told_so_on_every_wire_and_what_runs_goes_on(
    control: LocalControl,
) -> None:
    user = await control.user()
    quotas = f"/users/{user.id}/quotas"
    async with await user.vm() as vm, user.reader(session := await user.session()) as reader:
        await user.say(session, "first")
        turn = (await vm.expect("user_message"))["data"]
        listed = await control.ok("PATCH", quotas, {"stored_bytes": 0})
        stored = next(one for one in listed["items"] if one["name"] == "stored_bytes")
        assert stored["used"] > stored["max"] == 0
        assert (await user.ok("GET", "/quotas"))["items"] == listed["items"]
        assert (await user.call("PATCH", quotas, {"stored_bytes": 9**9}))[0] == 403

        status, answer = await user.call("POST", f"/sessions/{session}/messages", {"message": "x"})
        assert (status, answer["error"]["code"]) == (429, "QUOTA_REACHED")
        told = answer["error"]["details"]
        assert (told["quota"], told["max"]) == ("stored_bytes", 0)
        assert told["used"] >= stored["used"]
        assert await refused(user, "/sessions", {})
        async with client_of(user) as client:
            await client.send("user.create_session")
            assert "stored bytes" in str(await client.fault("QUOTA_REACHED"))
        async with web_of(user) as web:
            said = {"conversationId": session, "text": "third"}
            error = await web.ask("send_message", "error", **said)
            assert (error["code"], "stored bytes" in error["message"]) == ("QUOTA_REACHED", True)

        await vm.text(session, "the answer")
        end = {"type": "execution_complete", "turn_id": turn.get("turn_id"), "content": "done"}
        await vm.event(session, **end)
        await reader.until_text("the answer")
        await user.until_turns(session, "completed")
        await control.ok("PATCH", quotas, {"stored_bytes": None})
        await user.say(session, "fourth")
