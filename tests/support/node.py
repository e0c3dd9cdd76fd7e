"""A real execution plane for end-to-end tests: the daemon as a process, against a control plane."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from tests.support.control import Control, TestUser
from tests.support.event_schema import check_events
from tests.support.eventually import eventually
from tests.support.model_server import ModelServer, Turn
from tests.support.program import Program, plain_environment
from tests.support.sse import SseReader

Json = dict[str, Any]
MODEL = "gpt-scripted"
DAEMON = "trunkline.execution.main"
_ROOT = Path(__file__).parents[2]


def is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def command_of(process: psutil.Process) -> list[str]:
    """Nothing of one that has ended: children come and go while they are looked at."""
    try:
        return list(process.cmdline())
    except psutil.NoSuchProcess:
        return []


def children_of(process: psutil.Process, *, recursive: bool = False) -> list[psutil.Process]:
    try:
        return [one for one in process.children(recursive=recursive) if is_alive(one)]
    except psutil.NoSuchProcess:
        return []


class Node(Program):
    """`python -m trunkline.execution.main`, which can be killed and started again."""

    def __init__(
        self,
        user: TestUser,
        home: Path,
        ws_url: str | None = None,
        env: Mapping[str, str] | None = None,
        daemon: str = DAEMON,
    ) -> None:
        """`env`: what its environment has besides the usual."""
        super().__init__(home)
        self._env = dict(env or {})
        self.user = user
        self.machine_id = ""
        self._ws_url = ws_url
        self._daemon = daemon

    async def start(self) -> "Node":
        """The first time with a ticket of a new VM, later as the same VM, with a fresh one."""
        if self.machine_id:
            made = await self.user.ok("POST", f"/machines/{self.machine_id}/token")
        else:
            made = await self.user.schedule()
            self.machine_id = made["vm_id"]
        env = plain_environment() | {
            "USER_ID": self.user.id,
            "VM_TOKEN": made["token"],
            "VM_TICKET": made["ticket"],
            "CONTROL_PLANE_WS": self._ws_url or made["ws_url"],
            "TRUNKLINE_NODE_HOME": str(self.home),
            # What programs of other makers keep of their user.
            "HOME": str(self.home.with_suffix(".user")),
            **self._env,
        }
        if self._daemon != DAEMON:
            env["PYTHONPATH"] = str(_ROOT)  # a daemon of the tests has runtimes of the tests
        self.home.with_suffix(".user").mkdir(exist_ok=True)
        await self.run(sys.executable, "-m", self._daemon, env=env)
        await eventually(self._online)
        return self

    async def _online(self) -> bool:
        if self.process.returncode is not None:
            raise AssertionError(f"the daemon ended: {self.log[-3000:]}")
        machine = await self.user.ok("GET", f"/machines/{self.machine_id}")
        return bool(machine["online"] and machine["runtimes"])

    @property
    def workspace(self) -> Path:
        return self.home / "workspace"

    def session_processes(self) -> list[psutil.Process]:
        """The children of the fork server."""
        children = children_of(psutil.Process(self.process.pid))
        servers = [one for one in children if "fork_server" in " ".join(command_of(one))]
        return [child for server in servers for child in children_of(server)]


class World:
    """A user with a scripted model, a daemon, and sessions on it."""

    def __init__(
        self,
        control: Control,
        model: ModelServer,
        home: Path,
        env: Mapping[str, str] | None = None,
        daemon: str = DAEMON,
        kind: type[Node] = Node,
    ) -> None:
        self._env = env
        self._kind = kind
        self.control = control
        self.model = model
        self._home = home
        self._daemon = daemon
        self.user: TestUser
        self.node: Node

    async def open(self, ws_url: str | None = None, **user: Any) -> "World":
        self.user = await self.control.user(**user)
        await self.lend_key("openai", self.model.openai_url)
        await self.lend_key("anthropic", self.model.anthropic_url)
        self.node = await self._kind(self.user, self._home, ws_url, self._env, self._daemon).start()
        return self

    async def lend_key(self, provider: str, url: str) -> None:
        """The scripted model is that provider."""
        path = f"/users/{self.user.id}/credentials/{provider}"
        await self.user.ok("PUT", path, {"api_key": f"key-of-{provider}", "base_url": url})

    async def __aenter__(self) -> "World":
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self.node.stop()

    async def session(self, *, agent: Json | None = None, **fields: Any) -> "Talk":
        config = {"model": MODEL, **(agent or {})}
        session_id = await self.user.session(
            machine_id=self.node.machine_id, agent_config=config, **fields
        )
        return Talk(self.user, session_id)


class Talk:
    """One session, with a reader that has seen everything from its first event."""

    def __init__(self, user: TestUser, session_id: str) -> None:
        self.user = user
        self.id = session_id
        self.reader: SseReader

    async def __aenter__(self) -> "Talk":
        self.reader = await self.user.reader(self.id).open()
        return self

    async def __aexit__(self, failed: type[BaseException] | None, *_: object) -> None:
        await self.reader.leave()
        if failed is None:
            check_events(self.events())

    async def say(self, message: str) -> str:
        return await self.user.say(self.id, message)

    async def ask(self, message: str) -> Json:
        """Says it and waits for the end of that turn: the event that ended it."""
        return await self.end_of(await self.say(message))

    async def until_offered(self, tool: str, model: ModelServer) -> None:
        """Turns of nothing: one does not wait long for a server that is still starting."""

        async def is_offered() -> bool:
            model.script(Turn(text="Is it there?", tokens_in=0, tokens_out=0))
            await self.ask("Look for it.")
            return any(tool in one.tool_names for one in model.requests)

        await eventually(is_offered)

    async def end_of(self, turn_id: str) -> Json:
        await self.reader.until(lambda _: bool(self.ends(turn_id)), "end of the turn")
        [end] = self.ends(turn_id)
        return end

    def ends(self, turn_id: str) -> list[Json]:
        ends = ("execution_complete", "execution_error")
        return [one for one in self.of(turn_id) if one["type"] in ends]

    def of(self, turn_id: str) -> list[Json]:
        """The events of a turn, in order."""
        return [one for one in self.events() if one.get("turn_id") == turn_id]

    def events(self, *kinds: str) -> list[Json]:
        found = [one.json for one in self.reader.events if one.id is not None]
        return [one for one in found if not kinds or one.get("type") in kinds]

    async def until(self, kind: str, count: int = 1) -> Json:
        """The nth event of that type."""
        await self.reader.until(
            lambda _: len(self.events(kind)) >= count, f"event {kind!r} number {count}"
        )
        return self.events(kind)[count - 1]

    async def answer(
        self, request_id: str, confirmed: bool, answer: Any = None, **more: Any
    ) -> None:
        """A person answers; the event is shown a moment before its record can be answered."""
        body = {"confirmed": confirmed, "answer": answer, "session_id": self.id, **more}

        async def answered() -> int:
            status, _ = await self.user.call("POST", f"/approvals/{request_id}", body)
            return status

        await eventually(answered, lambda status: status < 300)

    def text(self, turn_id: str | None = None) -> str:
        """What was said, put together from its pieces."""
        events = self.of(turn_id) if turn_id is not None else self.events()
        return "".join(one["content"] for one in events if one["type"] == "text_chunk")
