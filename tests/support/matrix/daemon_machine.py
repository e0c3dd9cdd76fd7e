"""The execution plane: the real daemon as a process, behind a line that can be cut.

Its stories are played by the scripted model server; the tools really run.
"""

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.control import TestUser
from tests.support.eventually import eventually
from tests.support.matrix.machine import MachineDriver
from tests.support.matrix.steps import Machine
from tests.support.matrix.story import TOOL, Ask, Beat, Fail, Hold, Run, Say, Think
from tests.support.model_server import Failure, Gate, ModelRequest, ModelServer, ToolUse, Turn
from tests.support.node import Node
from tests.support.proxy import CuttableProxy
from trunkline.execution.ws.login import LINE_LIVED_S


class DaemonMachine(MachineDriver):
    kind = Machine.EXECUTION_PLANE

    def __init__(self, user: TestUser, home: Path) -> None:
        self._user = user
        self._home = home
        self._model = ModelServer()
        self._proxy = CuttableProxy(urlsplit(user.control.url).port or 0)
        self._node: Node
        self._up_since = 0.0

    async def open(self) -> "DaemonMachine":
        await self._model.__aenter__()
        await self._proxy.__aenter__()
        await self._user.ok(
            "PUT",
            f"/users/{self._user.id}/credentials/openai",
            {"api_key": "key-of-openai", "base_url": self._model.openai_url},
        )
        line = f"ws://127.0.0.1:{self._proxy.port}/ws/vm"
        self._node = await Node(self._user, self._home, line).start()
        self.machine_id = self._node.machine_id
        return self

    async def close(self) -> None:
        await self._node.stop()
        await self._proxy.__aexit__(None, None, None)
        await self._model.__aexit__()

    def plays(self, prompt: str, *story: Beat) -> None:
        self._model.when(lambda request: prompt in request.prompt, *turns_of(story))

    def _requests(self, prompt: str) -> list[ModelRequest]:
        return [one for one in self._model.requests if prompt in one.prompt]

    def answers_to(self, question: str) -> list[str]:
        """An answer is the result of the call that asked, in the next request."""
        found = []
        for request in self._model.requests:
            calls = [one for one in request.messages if one.get("tool_calls")]
            if calls and question in str(calls[-1]["tool_calls"]) and request.tool_results:
                found += request.tool_results
        return found

    def prompts(self, prompt: str) -> int:
        """How many conversations of the model begin with it: tools make further requests."""
        return sum(not one.tool_results for one in self._requests(prompt))

    async def cut(self) -> None:
        """A daemon whose lines break at once waits ever longer before the next one: this one is
        let live long enough to count as a line."""
        age_s = asyncio.get_running_loop().time() - self._up_since
        await asyncio.sleep(max(0.0, LINE_LIVED_S - age_s))
        self._proxy.cut()
        await eventually(self._is_online, lambda online: not online)

    async def mend(self) -> None:
        self._proxy.mend()
        await eventually(self._is_online)
        self._up_since = asyncio.get_running_loop().time()

    async def _is_online(self) -> bool:
        machine = await self._user.ok("GET", f"/machines/{self.machine_id}")
        return bool(machine["online"])


def turns_of(story: tuple[Beat, ...]) -> list[Turn]:
    """The answers of a model that make a story: one up to each tool call, and one for the rest."""
    turns: list[Turn] = []
    chunks: list[str | Gate] = []
    thinking = ""
    for beat in story:
        match beat:
            case Say(text):
                chunks.append(text)
            case Think(thought):
                thinking += thought
            case Hold(gate):
                chunks.append(gate)
            case Run(command):
                call = ToolUse(name=TOOL, arguments={"command": command})
                turns.append(Turn(chunks=chunks, thinking=thinking, tool_calls=[call]))
                chunks, thinking = [], ""
            case Ask(question, options):
                asked = {"question": question, **({"options": list(options)} if options else {})}
                call = ToolUse(name="ask_user", arguments=asked)
                turns.append(Turn(chunks=chunks, thinking=thinking, tool_calls=[call]))
                chunks, thinking = [], ""
            case Fail(problem):
                failure = Failure(kind="bad_request", message=problem)
                return [
                    *turns,
                    Turn(chunks=chunks, failure=failure, failure_in_stream=bool(chunks)),
                ]
    return [*turns, Turn(chunks=chunks, thinking=thinking)]
