"""A scripted AGP device, written from source document 003: raw JSON on a real WebSocket."""

import json
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

from tests.support.control import TestUser
from tests.support.peer import Json, Peer


class ScriptedDevice(Peer):
    """One connection."""

    named_by = "method"

    def __init__(
        self,
        url: str,
        *,
        guid: str | None = None,
        user_id: str | None = None,
        token: str | None = None,
        path: str = "/",
    ) -> None:
        asked = {"guid": guid, "user_id": user_id, "token": token}
        query = urlencode({name: value for name, value in asked.items() if value is not None})
        super().__init__(f"{url.replace('http', 'ws', 1)}{path}?{query}")
        self.guid = guid
        self.user_id = user_id
        self.token = token
        self._base = url
        self._path = path

    def again(self) -> "ScriptedDevice":
        """The same device for a reconnect."""
        return ScriptedDevice(
            self._base, guid=self.guid, user_id=self.user_id, token=self.token, path=self._path
        )

    async def send(self, method: str, payload: Json, **envelope: Any) -> str:
        """003 §3: an envelope; returns its `msg_id`."""
        message = {
            "msg_id": str(uuid4()),
            "guid": self.guid,
            "user_id": self.user_id,
            "method": method,
            "payload": payload,
            **envelope,
        }
        # As apps write it: no spaces, no escapes that are not needed.
        await self.send_text(json.dumps(message, ensure_ascii=False, separators=(",", ":")))
        return str(message["msg_id"])

    async def update(self, prompt: Json, update_type: str, /, **fields: Any) -> str:
        """003 §5: `session.update` for a prompt that came."""
        asked = prompt["payload"]
        payload = {
            "session_id": asked["session_id"],
            "prompt_id": asked["prompt_id"],
            "update_type": update_type,
            **fields,
        }
        return await self.send("session.update", payload, **_echo(prompt))

    async def text(self, prompt: Json, *pieces: str) -> None:
        for piece in pieces:
            await self.update(prompt, "message_chunk", content={"type": "text", "text": piece})

    async def tool(self, prompt: Json, call_id: str, status: str, /, **fields: Any) -> None:
        """A `tool_call`, or with any further status a `tool_call_update`."""
        update_type = fields.pop("update_type", "tool_call")
        call = {"tool_call_id": call_id, "status": status, **fields}
        await self.update(prompt, update_type, tool_call=call)

    async def respond(
        self, prompt: Json, text: str | None = None, stop_reason: str = "end_turn", **fields: Any
    ) -> str:
        """003 §5: `session.promptResponse`."""
        asked = prompt["payload"]
        payload = {
            "session_id": asked["session_id"],
            "prompt_id": asked["prompt_id"],
            "stop_reason": stop_reason,
            **fields,
        }
        if text is not None:
            payload["content"] = [{"type": "text", "text": text}]
        return await self.send("session.promptResponse", payload, **_echo(prompt))

    async def prompt(self, text: str) -> Json:
        """The prompt whose first block says this."""
        return await self.expect(
            "session.prompt", lambda one: one["payload"]["content"][0]["text"] == text
        )

    async def cancel_of(self, prompt: Json) -> Json:
        wanted = prompt["payload"]["prompt_id"]
        return await self.expect(
            "session.cancel", lambda one: one["payload"]["prompt_id"] == wanted
        )

    async def round_trip(self) -> None:
        """Everything sent before has been taken: a `ping` behind it is answered."""
        mark = str(uuid4())
        await self.send("ping", {}, msg_id=mark)
        await self.expect("pong", lambda one: one["payload"].get("msg_id") == mark)

    def of(self, method: str) -> list[Json]:
        return self.of_type(method)

    def said(self) -> list[str]:
        """The texts of the prompts that came, in order."""
        return [one["payload"]["content"][0]["text"] for one in self.of("session.prompt")]


def _echo(prompt: Json) -> Json:
    """Uplink messages carry the `guid` and `user_id` of the prompt."""
    return {"guid": prompt["guid"], "user_id": prompt["user_id"]}


async def register(user: TestUser, **fields: Any) -> Json:
    """A new device's credentials: `guid`, `token`, `machine_id`."""
    made: Json = await user.ok("POST", f"/users/{user.id}/devices", fields)
    return made


async def new_device(user: TestUser, **fields: Any) -> ScriptedDevice:
    """A new device, connected with all that the document asks for."""
    made = await register(user, **fields)
    device = device_of(user, made)
    return await device.connect()


def device_of(user: TestUser, made: Json, **options: Any) -> ScriptedDevice:
    return ScriptedDevice(
        user.control.url, guid=made["guid"], user_id=user.id, token=made["token"], **options
    )


async def events_of(user: TestUser, session_id: str) -> list[Json]:
    """What the session's log holds."""
    page = await user.ok("GET", f"/sessions/{session_id}/events?limit=1000")
    return [item["event"] for item in page["items"]]
