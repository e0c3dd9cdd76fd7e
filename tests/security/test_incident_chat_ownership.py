"""Open WebUI, CVE-2026-45349 (GHSA-gfm2-xm6c-37qc): the server took a conversation's id for the
right to read it and to go on with it.

Here an id opens nothing: whoever names another's gets the answer for one that does not exist.
"""

from pathlib import Path

from tests.support.control import running
from tests.support.eventually import eventually
from tests.support.myagent import MyAgentClient
from tests.support.yeaft_web import ScriptedWeb

NOWHERE = "01a1dd16-7fed-7860-a4ee-8e35ee94311f"


async def test_nobody_reads_or_continues_anothers_chat_by_its_id_on_any_wire(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "data") as control:
        ann, eve = await control.user("ann"), await control.user("eve")
        async with await ann.vm() as vm:
            chat = await ann.session()
            await ann.say(chat, "my secret")
            await vm.expect("user_message")
            for path in ("", "/events", "/snapshot", "/stream"):
                theirs = await eve.call("GET", f"/sessions/{chat}{path}")
                nobodys = await eve.call("GET", f"/sessions/{NOWHERE}{path}")
                assert theirs[0] == nobodys[0] == 404
            for path, body in (("/messages", {"message": "hi"}), ("/cancel", {})):
                assert (await eve.call("POST", f"/sessions/{chat}{path}", body))[0] == 404
            address = control.url.replace("http", "ws", 1)
            async with MyAgentClient(f"{address}/ws/myagent", eve.token) as client:
                await client.reconnect(chat)
                await client.fault("SESSION_NOT_FOUND")
                assert client.text(chat) == ""
            async with ScriptedWeb(f"{address}/ws/yeaft?type=web&token={eve.token}") as web:
                await web.send("sync_messages", conversationId=chat)
                assert (await web.expect("error"))["code"] == "SESSION_NOT_FOUND"
                assert "my secret" not in str(web.received)
            assert len(vm.of_type("user_message")) == 1
            assert vm.of_type("cancel") == []

        async def noted() -> list[str]:
            page = await control.ok("GET", "/audit")
            return [one["user_id"] for one in page["items"] if one["event"] == "access.refused"]

        assert set(await eventually(noted)) == {eve.id}
