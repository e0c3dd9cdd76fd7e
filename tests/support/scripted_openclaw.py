"""A stand-in for OpenClaw's gateway: a program that reads the same configuration, speaks the same
protocol, and does what messages tell it.

    say WORDS · hold · think WORDS · run COMMAND · use TOOL ARGUMENTS · skill PATH · settings ·
    fail WORDS · die · leave

Where the file `ill` lies in its folder, it is not ready any more. Where `busy` does, it refuses
each request once, as the real one does when a thread of its own keeps another from its state for
too long.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, ClientTimeout, WSMsgType, web

Json = dict[str, Any]

BUSY = "busy"
ILL = "ill"
OWNED = "another OpenClaw process owns state-lifecycle"


class Gateway:
    def __init__(self) -> None:
        self.file = Path(os.environ["OPENCLAW_CONFIG_PATH"])
        self.config: Json = json.loads(self.file.read_text())
        self.keys: Json = {}
        self.changes = 0
        self.refused: set[str] = set()
        if is_nonsense(self.config):
            sys.exit("the settings are not valid")
        self.read_keys()
        self.running: dict[str, asyncio.Task[None]] = {}

    def read_keys(self) -> None:
        self.keys = json.loads(
            Path(self.config["secrets"]["providers"]["keys"]["path"]).read_text()
        )

    async def serve(self) -> None:
        app = web.Application()
        app.router.add_get("/readyz", self.ready)
        app.router.add_get("/", self.talk)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self.config["gateway"]["port"]).start()
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        await stop.wait()

    async def ready(self, _request: web.Request) -> web.Response:
        return web.Response(status=503 if Path(ILL).exists() else 200)

    async def talk(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(max_msg_size=0)
        await socket.prepare(request)
        await socket.send_json({"type": "event", "event": "connect.challenge", "payload": {}})
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                asked = json.loads(message.data)
                await self.answer(Caller(socket, asked["id"]), asked["method"], asked["params"])
        return socket

    async def answer(self, caller: "Caller", method: str, params: Json) -> None:
        whose = f"{method} {params.get('sessionKey')}"
        if whose not in self.refused and Path(BUSY).exists():
            self.refused.add(whose)
            if method == "agent":
                await caller.ok({"runId": "r", "status": "accepted"})
            await caller.error("UNAVAILABLE", f"Error: {OWNED}")
            return
        match method:
            case "connect":
                good = params["auth"]["token"] == self.config["gateway"]["auth"]["token"]
                await (caller.ok({}) if good else caller.error("UNAUTHORIZED", "wrong token"))
            case "config.get":
                await caller.ok({"hash": f"h{self.changes}"})
            case "config.apply":
                wanted = json.loads(params["raw"])
                if is_nonsense(wanted):
                    await caller.error("INVALID_REQUEST", "the settings are not valid")
                    return
                if (
                    not self.config["agents"]["entries"].keys()
                    <= wanted["agents"]["entries"].keys()
                ):
                    await caller.error("INVALID_REQUEST", "it would drop agent roster entries")
                    return
                if any(one["model"].endswith("/deadly") for one in entries_of(wanted)):
                    os.kill(os.getpid(), signal.SIGKILL)
                self.config, self.changes = wanted, self.changes + 1
                self.read_keys()  # as the real one does: it must be there
                await caller.ok({"hash": f"h{self.changes}"})
            case "secrets.reload":
                self.read_keys()
                await caller.ok({})
            case "trunkline.guard":
                await caller.ok({"guards": bool(self.config["plugins"]["load"]["paths"])})
            case "chat.abort":
                if task := self.running.pop(params["sessionKey"], None):
                    task.cancel()
                await caller.ok({})
            case "agent":
                if params["agentId"] not in self.config["agents"]["entries"]:
                    await caller.error("INVALID_REQUEST", "unknown agent")
                    return
                await caller.ok({"runId": "r", "status": "accepted"})
                run = Run(self, caller, params)
                self.running[params["sessionKey"]] = asyncio.create_task(run.go())
            case _:
                await caller.ok({})


def is_nonsense(config: Json) -> bool:
    return any(one["model"].endswith("/nonsense") for one in entries_of(config))


def entries_of(config: Json) -> list[Json]:
    return list(config["agents"]["entries"].values())


class Caller:
    def __init__(self, socket: web.WebSocketResponse, number: str) -> None:
        self.socket, self.number = socket, number

    async def ok(self, payload: Json) -> None:
        await self._send(ok=True, payload=payload)

    async def error(self, code: str, message: str) -> None:
        await self._send(ok=False, error={"code": code, "message": message})

    async def event(self, name: str, payload: Json) -> None:
        await self.socket.send_json({"type": "event", "event": name, "payload": payload})

    async def _send(self, **fields: Any) -> None:
        await self.socket.send_json({"type": "res", "id": self.number, **fields})


class Run:
    def __init__(self, gateway: Gateway, caller: Caller, params: Json) -> None:
        self.gateway, self.caller, self.params = gateway, caller, params
        self.entry: Json = gateway.config["agents"]["entries"][params["agentId"]]

    async def go(self) -> None:
        try:
            await self._do(*self.params["message"].partition(" ")[::2])
        except asyncio.CancelledError:
            (Path(self.entry["cwd"]) / "aborted").touch()
            await self._tell("lifecycle", phase="end", aborted=True)
            await self.caller.ok({"status": "timeout", "summary": "aborted"})

    async def _do(self, what: str, rest: str) -> None:
        match what:
            case "hold":
                await self._tell("assistant", itemId="a", text="I am")
                await asyncio.Event().wait()
            case "think":
                await self._tell("thinking", text=rest)
                await self._end("thought")
            case "run":
                await self._run(rest)
            case "use":
                name, _, given = rest.partition(" ")
                called = {"name": name, "arguments": json.loads(given)}
                result = await self._asked("tools/call", called)
                await self._end("".join(one["text"] for one in result["content"]))
            case "skill":
                await self._tool("read", {"path": rest}, Path(rest).read_text())
                await self._end("read")
            case "settings":
                provider = self.entry["model"].partition("/")[0]
                found = {"entry": self.entry, "key": self.gateway.keys[provider]}
                await self._end(json.dumps({**found, "told": self.params}))
            case "fail":
                await self._tell("lifecycle", phase="error", error=rest)
                await self.caller.error("UNAVAILABLE", "the run failed")
            case "die":
                await self._tell("assistant", itemId="a", text="I am")
                left = subprocess.Popen(["sleep", "987"], start_new_session=True)
                (Path(self.entry["cwd"]) / "left.pid").write_text(str(left.pid))
                os.kill(os.getpid(), signal.SIGKILL)
            case _:
                await self._tell("assistant", itemId="a", text=rest)
                await self._tell("dance", text="nobody knows this")
                await self._end(rest)

    async def _run(self, command: str) -> None:
        call = {"tool": "exec", "input": {"command": command}, "tool_call_id": "c"}
        answer = await self._asked("trunkline/permit", call)
        done = command if answer["allowed"] else answer["reason"]
        await self._tool("exec", {"command": command}, done)
        await self._end("ran")

    async def _asked(self, method: str, params: Json) -> Json:
        """At the session's tools: as the real one calls them, and our plugin in it asks."""
        server = self.gateway.config["mcp"]["servers"][self.params["agentId"]]
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        async with (
            ClientSession(timeout=ClientTimeout()) as client,
            client.post(server["url"], json=body, headers=server["headers"]) as response,
        ):
            answer: Json = await response.json()
            return answer.get("result") or {"content": [{"text": answer["error"]["message"]}]}

    async def _tool(self, name: str, args: Json, text: str) -> None:
        call = {"name": name, "toolCallId": "c"}
        await self._tell("tool", phase="start", **call, args=args)
        result = {"content": [{"type": "text", "text": text}]}
        await self._tell("tool", phase="result", **call, isError=False, result=result)

    async def _tell(self, stream: str, **data: Any) -> None:
        whose = {"runId": "r", "sessionKey": self.params["sessionKey"]}
        await self.caller.event("agent", {**whose, "stream": stream, "data": data})

    async def _end(self, text: str) -> None:
        usage = {"input": 10, "output": 5, "cacheRead": 0, "cacheWrite": 0}
        meta = {"agentMeta": {"model": "gpt-x", "usage": usage, "assistantTurns": 1}}
        result = {"payloads": [{"text": text}], "meta": meta}
        await self.caller.ok({"status": "ok", "runId": "r", "result": result})


if __name__ == "__main__":
    assert sys.argv[1:] == ["gateway"], sys.argv
    asyncio.run(Gateway().serve())
