"""A session with everything it has open: models, tools, memory, checkpoints, turns."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import structlog
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from trunkline import limits, model_windows, prices
from trunkline.execution import logs
from trunkline.execution.attachments import read_attachments
from trunkline.execution.checkpoint.local_checkpointer import LocalCheckpointer
from trunkline.execution.fence import words
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.llm.router import Router
from trunkline.execution.llm.windows import Windows
from trunkline.execution.memory.edits import Edits
from trunkline.execution.memory.local_memory import LocalShortTermMemory
from trunkline.execution.orchestrator.allowed import Allowed
from trunkline.execution.orchestrator.begun import Begun
from trunkline.execution.orchestrator.context import Context
from trunkline.execution.orchestrator.graph import run_nested
from trunkline.execution.orchestrator.instructions import Instructions
from trunkline.execution.orchestrator.settings import read_settings, unknown_names
from trunkline.execution.orchestrator.turns import Turns
from trunkline.execution.permits import Permits
from trunkline.execution.pictures.pictures import Pictures
from trunkline.execution.session import ipc
from trunkline.execution.session.daemon_link import DaemonLink
from trunkline.execution.skills.index import lacks
from trunkline.execution.skills.registry import SkillRegistry
from trunkline.execution.skills.store import DaemonSkills
from trunkline.execution.tools.asking import AskUser, Delegate
from trunkline.execution.tools.toolbox import open_toolbox
from trunkline.execution.tools.watching import Watch
from trunkline.permissions.modes import FREE_NEEDS_A_FENCE

_log = structlog.get_logger(__name__)

Sleep = Callable[[float], Awaitable[None]]


class OpenSession:
    """Made by `open`, told by `take`, ended by `stop` (in peace) and `close` (in any case)."""

    def __init__(self, context: Context, turns: Turns, opened: AsyncExitStack) -> None:
        self._context = context
        self._turns = turns
        self._opened = opened

    @classmethod
    async def open(
        cls,
        start: ipc.Start,
        link: DaemonLink,
        *,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
        sleep: Sleep,
        env: Mapping[str, str],
    ) -> "OpenSession":
        """Opens everything and tells the daemon `ready`. Raises what makes that impossible."""
        logs.hide(start.api_keys.values())
        home = Home(Path(start.home))
        folder = home.session(start.session_id)
        settings, problems = read_settings(start.agent_config, start.session_config)
        async with AsyncExitStack() as opened:
            skills = SkillRegistry(
                start.skill_index,
                home,
                link,
                env,
                secrets=start.api_keys.values(),
                store=DaemonSkills(link),
            )
            problems += [lacks(skill, needs) for skill, needs in skills.unavailable]
            delegate = Delegate(start.sub_agents)
            toolbox = await open_toolbox(
                start,
                home,
                link,
                skills=skills,
                extra=[AskUser(), delegate] if delegate.agents else [AskUser()],
                problems=problems,
                env=env,
            )
            opened.push_async_callback(_in_time, toolbox.close)
            pictures = Pictures(folder, env)
            router = Router(
                start.api_keys,
                start.llm_config,
                link,
                sleep=sleep,
                env=env,
                pictures=pictures,
                windows=Windows(model_windows.told(start.llm_config.get("windows"))),
            )
            opened.push_async_callback(_in_time, router.close)
            if settings.mode == "free" and not start.fenced:
                problems.append(FREE_NEEDS_A_FENCE[0].upper() + FREE_NEEDS_A_FENCE[1:] + ".")
            workspace = home.workspace_of(start.workspace)
            roots = [home.worktrees, *map(Path, start.roots)]
            memory = LocalShortTermMemory(folder, clock)
            checkpointer = LocalCheckpointer(folder, serde=plain_serializer())
            opened.callback(checkpointer.reserve.release)
            context = Context(
                session_id=start.session_id,
                workspace=workspace,
                instructions=Instructions(workspace, folder, roots),
                watch=Watch(workspace, folder / "git-view"),
                folder=folder,
                pictures=pictures,
                settings=settings,
                router=router,
                toolbox=toolbox,
                memory=memory,
                edits=Edits(memory),
                reserve=checkpointer.reserve,
                control=link,
                skills=skills,
                outlet=link,
                clock=clock,
                run_nested=run_nested,
                delegate=delegate if delegate.agents else None,
                problems=problems,
                prices=prices.told(start.llm_config.get("prices")),
                allowed=Allowed(folder),
                fence=start.fence.told if start.fence is not None else words.NO_FENCE,
                permits=Permits(start.rules, problems, fenced=start.fenced),
                begun=Begun(folder, checkpointer.reserve),
            )
            turns = Turns(checkpointer, context, sleep=sleep, monotonic=monotonic)
            if start.fork is not None:
                await turns.fork(start.fork, folder)
            await turns.recover(start.turn_id)
            link.ready(list(problems))
            turns.start()
            return cls(context, turns, opened.pop_all())

    @property
    def is_working(self) -> bool:
        return self._context.toolbox.is_working

    def take(self, message: ipc.Down) -> None:
        """What the daemon says to a session that runs. Never waits."""
        match message:
            case ipc.UserMessage(data=data):
                turn_id = data.turn_id or uuid.uuid4().hex
                attached = read_attachments(data.metadata)
                self._turns.submit(turn_id, data.message, data.history, attached)
            case ipc.Steer(data=data):
                attached = read_attachments(data.metadata)
                self._turns.steer(data.steers, data.message_id, data.message, attached)
            case ipc.Cancel():
                self._turns.cancel()
            case ipc.Compact():
                self._turns.compact()
            case ipc.ApprovalResponse(data=answer):
                self._turns.answer(answer)
            case ipc.ConfigUpdate(data=patch):
                self._configure(patch)
            case ipc.Progress(message=news):
                self._context.emit("thinking", stage="model", content=news)
            case _:
                _log.warning("message out of place", type=type(message).__name__)

    def _configure(self, patch: Json) -> None:
        """Holds from the next model call on; what is no good changes nothing. Who says anew which
        tools ask first does not mean what was allowed before."""
        if "confirm" in patch or "permission_mode" in patch:
            self._context.allowed.clear()
        rules = patch.pop("rules", None)
        wrong = [] if rules is None else self._context.permits.change(rules)
        self._context.settings, problems = self._context.settings.changed(patch)
        ignored = wrong + problems + [f"{name}: unknown" for name in unknown_names(patch)]
        if ignored:
            _log.warning("settings ignored", session_id=self._context.session_id, reasons=ignored)

    async def stop(self, reason: str) -> None:
        _log.info("session stops", session_id=self._context.session_id, reason=reason)
        await self._turns.stop()

    async def close(self) -> None:
        """Ends what runs, closes what is open; each within its time."""
        await self._turns.kill()
        await self._opened.aclose()


def plain_serializer() -> JsonPlusSerializer:
    """A snapshot comes from outside: it may name no class that is to be made here."""
    return JsonPlusSerializer(allowed_msgpack_modules=None)


async def _in_time(close: Callable[[], Awaitable[None]]) -> None:
    try:
        async with asyncio.timeout(limits.CANCEL_GRACE_S):
            await close()
    except Exception:
        _log.exception("not closed in time")
