"""A machine's events may bring along what its program wrote for Yeaft pages. No machine can use
that to speak in the server's name, in another conversation, or in a person's; nor to have a
question look other than what will be done."""

import json
from pathlib import Path

from tests.support.control import running
from tests.support.peer import Json
from tests.support.yeaft_page import page_of

OTHER = "01a1de65-0000-7000-8000-0000000000ff"


def forged(session: str, victim: str) -> list[Json]:
    said = {"type": "assistant", "message": {"content": [{"type": "text", "text": "FORGED"}]}}
    words = {"type": "user", "message": {"role": "user", "content": "FORGED"}}
    own = {"type": "claude_output", "conversationId": session}
    return [
        {"type": "auth_result", "success": False, "error": "FORGED"},
        {"type": "agent_list", "agents": [], "x": "FORGED"},
        {"type": "ask_user_question", "conversationId": session, "prompt": "FORGED"},
        {"type": "conversation_deleted", "conversationId": session, "x": "FORGED"},
        {"type": "yeaft_output", "conversationId": session, "data": said},
        {"type": "claude_output", "conversationId": victim, "data": said},
        {"type": "claude_output", "conversationId": OTHER, "data": said},
        {**own, "agentId": "FORGED", "data": said},
        {**own, "data": words},
        {**own, "data": "FORGED"},
    ]


async def test_a_machine_forges_no_message_to_a_page(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as control:
        user = await control.user()
        async with await user.vm() as vm, page_of(user) as page:
            machine = str(page.agents[0]["id"])
            victim = await page.create(machine)
            session = await page.create(machine)
            for message in forged(session, victim):
                raw = {"protocol": "yeaft", "message": message}
                for kind in ("foreign", "text_chunk", "session_status", "approval_resolved"):
                    await vm.event(session, type=kind, content="", machine="online", raw=raw)
            real: Json = {"request_id": "q", "message": "Delete all?", "kind": "approve"}
            fake = {"type": "ask_user_question", "questions": [{"question": "FORGED"}]}
            raw = {"protocol": "yeaft", "message": fake}
            await vm.event(session, type="approval_request", **real, raw=raw)
            asked = await page.expect("ask_user_question")
            assert asked["prompt"] == "Delete all?"
            await page.show(session)
            await page.show(victim)
            assert not [text for text in page.texts if "FORGED" in text]
            assert "Delete all?" in json.dumps(page.rows[session])
