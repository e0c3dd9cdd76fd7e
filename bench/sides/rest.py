"""The few REST calls that a measurement needs: users, machines, tokens, sessions.

One kept-alive connection; used by the Trunkline side only, never while something is timed.
"""

import http.client
import json
import time
from typing import Any

TIMEOUT_S = 30.0
JSON_INT_MAX = 2**53 - 1
IDLE_S_MAX = 10.0  # the server closes a connection that is idle for 20


class RestError(Exception):
    """The server refused a call."""


class Rest:
    """Calls under `/api/v1` of a server on loopback."""

    def __init__(self, port: int, admin_token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
        self._admin_token = admin_token
        self._used_at = time.monotonic()

    def new_user(self, name: str) -> str:
        user: str = self._post("/users", {"name": name})["id"]
        return user

    def user_token(self, user_id: str) -> str:
        token: str = self._post(f"/users/{user_id}/token", {})["token"]
        return token

    def new_vm(self, user_id: str) -> dict[str, str]:
        """`vm_id`, `token` and `ticket` of a machine that we play ourselves."""
        vm: dict[str, str] = self._post(f"/users/{user_id}/vm", {"provider": "manual"})
        return vm

    def new_session(self, user_token: str, machine_id: str) -> str:
        body = {"machine_id": machine_id, "title": "bench"}
        session: str = self._post("/sessions", body, user_token)["id"]
        return session

    def new_device(self, user_id: str) -> dict[str, str]:
        """`guid`, `token` and `machine_id` of an AGP device."""
        device: dict[str, str] = self._post(f"/users/{user_id}/devices", {})
        return device

    def new_yeaft_agent(self, user_id: str) -> dict[str, str]:
        """`id` and `secret` of a Yeaft agent."""
        agent: dict[str, str] = self._post(f"/users/{user_id}/yeaft-agents", {})
        return agent

    def send(self, user_token: str, session_id: str, text: str) -> str:
        """Says something to a session; the id of the turn that it opens."""
        path = f"/sessions/{session_id}/messages"
        turn: str = self._post(path, {"message": text}, user_token)["turn_id"]
        return turn

    def turn_states(self, user_token: str, session_id: str) -> list[str]:
        snapshot = self._call("GET", f"/sessions/{session_id}/snapshot", None, user_token)
        return [turn["state"] for turn in snapshot["turns"]]

    def last_event_id(self, user_token: str, session_id: str) -> int:
        path = f"/sessions/{session_id}/events?before={JSON_INT_MAX}&limit=1"
        items = self._call("GET", path, None, user_token)["items"]
        return int(items[-1]["id"]) if items else 0

    def close_session(self, user_token: str, session_id: str) -> None:
        self._call("DELETE", f"/sessions/{session_id}", None, user_token)

    def close(self) -> None:
        self._connection.close()

    def _post(self, path: str, body: dict[str, str], token: str = "") -> Any:
        return self._call("POST", path, body, token)

    def _call(self, method: str, path: str, body: dict[str, str] | None, token: str) -> Any:
        headers = {
            "Authorization": f"Bearer {token or self._admin_token}",
            "Content-Type": "application/json",
        }
        sent = None if body is None else json.dumps(body)
        if time.monotonic() - self._used_at > IDLE_S_MAX:
            self._connection.close()  # the request opens it again
        self._connection.request(method, f"/api/v1{path}", sent, headers)
        response = self._connection.getresponse()
        answer = response.read()
        self._used_at = time.monotonic()
        if response.status >= 300:
            raise RestError(f"{method} {path}: {response.status} {answer[:300]!r}")
        return json.loads(answer) if answer else None
