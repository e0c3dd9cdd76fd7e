"""An ACP agent that does what it is told: a prompt is a JSON list of steps. A program of its own.

    python acp_agent.py [--older] [--no-load] [--resume] [--titles] [--in-use] [--login VARIABLE]
                        [--deaf] [--plain]

`--older`: prompts are answered at once, and end with `session/turn_complete`. `--deaf`: takes no
notice of a cancel. `--plain`: offers no modes, models and images. `--in-use`: somebody else has all
of its sessions open. Sessions that it knows are names
in `.sessions` of the folder that it works in. Uses the standard library alone, to start quickly.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]
KNOWN = Path(".sessions")
MODES = {"availableModes": [{"id": "x#ask", "name": "Ask"}, {"id": "x#plan", "name": "Plan"}]}
MODELS = [{"value": "acme/one", "name": "One"}, {"value": "acme/two", "name": "Two"}]


class Agent:
    def __init__(self, flags: list[str]) -> None:
        self._flags = flags
        self._cancelled = asyncio.Event()
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._number = 0
        self._session = ""
        self._is_logged_in = "--login" not in flags
        self._model, self._mode = "acme/one", "x#ask"
        self._heard: list[Json] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def send(self, **message: Any) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    async def take(self, message: Json) -> None:
        if "method" not in message:
            self._waiting.pop(message["id"]).set_result(message)
        elif message["method"] == "session/cancel":
            if "--deaf" not in self._flags:
                self._cancelled.set()
        else:
            try:
                result = await self._answer(message["method"], message["params"])
            except Refused as refused:
                self.send(id=message["id"], error={"code": refused.code, "message": str(refused)})
            else:
                self.send(id=message["id"], result=result)
            if message["method"] == "session/prompt" and "--older" in self._flags:
                await self._play(message["params"])

    async def _answer(self, method: str, params: Json) -> Json:
        self._heard.append({"method": method, "params": params})
        match method:
            case "initialize":
                return self._greeting()
            case "authenticate":
                self._is_logged_in = True
                return {}
            case "session/new" | "session/load" if not self._is_logged_in:
                raise Refused(-32000, "Authentication required")
            case "session/new":
                self._session = f"s-{os.getpid()}"
                with KNOWN.open("a") as file:
                    file.write(self._session + "\n")
                return {"sessionId": self._session, **self._options()}
            case "session/load" | "session/resume" if "--in-use" in self._flags:
                raise Refused(-32603, f"thread {params['sessionId']} already has an active writer")
            case "session/load" | "session/resume":
                if not KNOWN.exists() or params["sessionId"] not in KNOWN.read_text().split():
                    raise Refused(-32002, "no such session")
                self._session = params["sessionId"]
                self.say("what was said before")
                return self._options()
            case "session/set_config_option":
                self._model = params["value"]
                return self._options()
            case "session/set_title":
                return {}
            case "session/set_mode":
                self._mode = params["modeId"]
                return {}
            case "session/prompt" if "--older" not in self._flags:
                return await self._play(params)
            case "session/prompt":
                return {}
        raise Refused(-32601, "Method not found")

    def _greeting(self) -> Json:
        variable = self._flags[self._flags.index("--login") + 1] if "--login" in self._flags else ""
        methods: list[Json] = [{"id": "browser", "name": "Browser", "description": "run `x login`"}]
        if variable:
            methods.append(
                {"id": "k", "name": "Key", "type": "env_var", "vars": [{"name": variable}]}
            )
        plain = "--plain" in self._flags
        return {
            "protocolVersion": 1,
            "agentInfo": {"name": "Scripted", "version": "1.2"},
            "authMethods": methods,
            "agentCapabilities": {
                "loadSession": "--no-load" not in self._flags,
                "promptCapabilities": {} if plain else {"image": True, "embeddedContext": True},
                "sessionCapabilities": {
                    one: {}
                    for one, flag in (("resume", "--resume"), ("title", "--titles"))
                    if flag in self._flags
                },
            },
        }

    def _options(self) -> Json:
        if "--plain" in self._flags:
            return {}
        option = {"id": "m", "category": "model", "currentValue": self._model, "options": MODELS}
        return {"modes": {**MODES, "currentModeId": self._mode}, "configOptions": [option]}

    def say(self, text: str) -> None:
        if "--older" in self._flags:
            self.send(method="session/agent_text", params={"text": text})
        else:
            content = {"type": "text", "text": text}
            update = {"sessionUpdate": "agent_message_chunk", "content": content}
            self.send(
                method="session/update", params={"sessionId": self._session, "update": update}
            )

    def _update(self, update: Json) -> None:
        params = {"sessionId": self._session, "update": update}
        self.send(method="session/update", params=params)

    async def _play(self, params: Json) -> Json:
        self._cancelled.clear()
        texts = [one["text"] for one in params["prompt"] if one["type"] == "text"]
        read = json.JSONDecoder().raw_decode
        steps: list[Json] = next((read(one)[0] for one in texts if one.startswith("[")), [])
        end: Json = {"stopReason": "end_turn"}
        for step in steps:
            [(name, given)] = step.items()
            match name:
                case "say":
                    self.say(given)
                case "update":
                    self.send(
                        method="session/update",
                        params={"sessionId": self._session, "update": given},
                    )
                case "notify":
                    self.send(method=given[0], params=given[1])
                case "ask":
                    answer = await self._request(*given)
                    self.say(json.dumps(answer.get("result", answer.get("error"))))
                case "heard":
                    found = [one["params"] for one in self._heard if one["method"] == given]
                    self.say(json.dumps(found))
                case "env":
                    self.say(json.dumps(os.environ.get(given)))
                case "spawn":
                    child = subprocess.Popen(given, start_new_session=True)
                    self.say(f"{child.pid}")
                case "wait":
                    await self._cancelled.wait()
                    end = {"stopReason": "cancelled"}
                case "raw":
                    sys.stdout.write(given + "\n")
                    sys.stdout.flush()
                case "fail":
                    raise Refused(*given)
                case "exit":
                    print("last words", file=sys.stderr, flush=True)
                    os._exit(given)
                case "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                case "end":
                    end |= given
        if "--older" in self._flags:
            self.send(method="session/turn_complete", params=end)
        return end

    async def _request(self, method: str, params: Json) -> Json:
        self._number += 1
        self._waiting[self._number] = asyncio.get_running_loop().create_future()
        self.send(id=self._number, method=method, params={"sessionId": self._session, **params})
        return await self._waiting[self._number]

    async def run(self) -> None:
        reader = asyncio.StreamReader(limit=2**26)
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            task = asyncio.create_task(self.take(json.loads(line)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)


class Refused(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


if __name__ == "__main__":
    asyncio.run(Agent(sys.argv[1:]).run())
