"""An execution plane with a script instead of a model: a real process that speaks the real wire.

Reads USER_ID, VM_TOKEN, VM_TICKET and CONTROL_PLANE_WS like the daemon of document 004. Answers a
user's message with the same text; the messages `crash` and `drop` end its process and its line.
"""

import argparse
import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Mapping
from typing import Any

import aiohttp


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--never-connect", action="store_true", help="live, but stay silent")
    parser.add_argument("--crash", action="store_true", help="exit with 3 before connecting")
    parser.add_argument("--exit-after", type=float, metavar="SECONDS", help="exit when connected")
    parser.add_argument("--heartbeat-s", type=float, default=10.0)
    parser.add_argument("--reconnect-s", type=float, default=0.05)
    return parser.parse_args(arguments)


class Daemon:
    """One line, any number of sessions, each of them an echo."""

    def __init__(self, options: argparse.Namespace, env: Mapping[str, str]) -> None:
        self._options = options
        self._user_id = env["USER_ID"]
        self._token = env["VM_TOKEN"]
        self._ticket: str | None = env["VM_TICKET"]
        self._url = env["CONTROL_PLANE_WS"]
        self._sessions: set[str] = set()

    async def run(self) -> None:
        async with aiohttp.ClientSession() as http:
            while True:
                with contextlib.suppress(aiohttp.ClientError):
                    await self._line(http)
                await asyncio.sleep(self._options.reconnect_s)

    async def _line(self, http: aiohttp.ClientSession) -> None:
        query = {"user_id": self._user_id}
        if self._ticket is not None:
            query["ticket"] = self._ticket
        async with http.ws_connect(self._url, params=query, max_msg_size=0) as line:
            await line.send_json({"type": "auth", "token": self._token})
            beating = asyncio.create_task(self._beat(line))
            try:
                async for frame in line:
                    if frame.type is aiohttp.WSMsgType.TEXT:
                        await self._take(line, json.loads(frame.data))
            finally:
                beating.cancel()
            if line.close_code in (4001, 4003, 4004):
                raise SystemExit(f"closed with {line.close_code}")

    async def _beat(self, line: aiohttp.ClientWebSocketResponse) -> None:
        while True:
            await asyncio.sleep(self._options.heartbeat_s)
            await line.send_json({"type": "heartbeat", "active_sessions": sorted(self._sessions)})

    async def _take(self, line: aiohttp.ClientWebSocketResponse, message: dict[str, Any]) -> None:
        data = message.get("data") or {}
        match message["type"]:
            case "init":
                self._ticket = None
                print(f"connected as {self._user_id}", flush=True)
                if self._options.exit_after is not None:
                    await asyncio.sleep(self._options.exit_after)
                    os._exit(4)
            case "start_session":
                self._sessions.add(data["session_id"])
            case "stop_session":
                self._sessions.discard(data["session_id"])
            case "user_message" if data["message"] == "crash":
                os._exit(5)
            case "user_message" if data["message"] == "drop":
                await line.close()
            case "user_message":
                text = data["message"]
                await _say(line, message["session_id"], {"type": "text_chunk", "content": text})
                done = {"type": "execution_complete", "content": text}
                await _say(line, message["session_id"], done)
            case _:
                pass


async def _say(
    line: aiohttp.ClientWebSocketResponse, session_id: str, event: dict[str, Any]
) -> None:
    await line.send_json({"type": "sse_event", "session_id": session_id, "data": json.dumps(event)})


def main(arguments: list[str], env: Mapping[str, str]) -> None:
    options = parse(arguments)
    if options.crash:
        print("nothing works here", file=sys.stderr)
        raise SystemExit(3)
    if options.never_connect:
        asyncio.run(asyncio.Event().wait())
    asyncio.run(Daemon(options, env).run())


if __name__ == "__main__":
    main(sys.argv[1:], os.environ)
