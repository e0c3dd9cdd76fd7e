"""The pictures of the terminal in README.md and docs/: `make screenshots` draws them anew.

Each is the screen of a real `trunkline chat`, on a real machine, whose model says what is written
in the story of the page's pictures or here.

python -m tests.terminal.recordings [FOLDER]
"""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.browser import story
from tests.support.control import running
from tests.support.model_server import ModelRequest, ModelServer, Turn
from tests.support.node import World
from tests.support.runtimes.installed import ROOT
from tests.terminal.harness import ENTER, Terminal, terminal
from tests.terminal.picture import THEMES, svg
from trunkline.control import logging

FOLDER = ROOT / "docs" / "images"
_MODEL = "gpt-5.4"
_CHINESE = "用一句话介绍这个项目，再列出三个优点。"
_ANSWER = """\
**Trunkline** 是一个自托管的 AI 智能体控制平面：会话、机器、审批和日志都在您自己的服务器上，\
手机、网页和终端看到的是同一个会话。

1. 断线不丢消息：每个会话都有一份有序的日志，客户端从中断处继续。
2. 危险的命令先问您：在终端、网页或手机上回答都可以，`trunkline chat` 会说明是谁回答的。
3. 一台机器一行命令即可加入。

| 组件 | 作用 |
| --- | --- |
| 控制平面 | 记录、路由、审批 |
| 执行平面 | 在您的机器上运行智能体 |
"""


class Recording(NamedTuple):
    """`play` types and waits; then the picture is taken."""

    name: str
    title: str
    play: Callable[[Terminal], Awaitable[None]]
    columns: int
    rows: int


async def _fix(screen: Terminal) -> None:
    screen.type(story.FIX, ENTER)
    for tool in ("bash", "edit_file"):
        await screen.until(partial(_asks, tool))
        screen.type("2", ENTER)
        await screen.until(lambda text: "answer>" not in text)
    await screen.until(lambda text: "I have not committed anything" in text and "tokens in" in text)


def _asks(tool: str, text: str) -> bool:
    return f"May I use {tool}?" in text and "answer>" in text


async def _push(screen: Terminal) -> None:
    screen.type(story.PUSH, ENTER)
    await screen.until("git push origin v1.4.0")


async def _chinese(screen: Terminal) -> None:
    screen.type(_CHINESE, ENTER)
    await screen.until(lambda text: "在您的机器上运行智能体" in text and "tokens in" in text)


RECORDINGS = (
    Recording("terminal-chat", "trunkline chat", _fix, 92, 40),
    Recording("terminal-question", "trunkline chat", _push, 92, 30),
    Recording("terminal-chinese", "trunkline chat", _chinese, 60, 40),
)


def _is(prompt: str, request: ModelRequest) -> bool:
    return request.prompt == prompt


@asynccontextmanager
async def _furnished(folder: Path) -> AsyncIterator[World]:
    model = ModelServer()
    async with running(folder / "data", rate_limit_per_minute=0) as control, model:
        world = World(control, model, folder / "home")
        await world.open(role="admin")
        try:
            await world.user.ok("PATCH", f"/machines/{world.node.machine_id}", {"name": "workshop"})
            story.fix(model, world.node.workspace)
            story.push(model)
            model.when(partial(_is, _CHINESE), Turn(text=_ANSWER, tokens_in=8_300, tokens_out=260))
            yield world
        finally:
            await world.close()


async def main(target: Path) -> None:
    logging.configure(json_logs=False, level="error")
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        async with _furnished(Path(folder)) as world:
            env = {
                "TRUNKLINE_URL": world.control.url,
                "TRUNKLINE_TOKEN": world.user.token,
                "XDG_STATE_HOME": str(Path(folder) / "state"),
                "HOME": str(world.node.home),
            }
            for name, title, play, columns, rows in RECORDINGS:
                arguments = ("chat", "--model", _MODEL)
                async with terminal(*arguments, env=env, columns=columns, rows=rows) as screen:
                    await screen.prompt()
                    await play(screen)
                    for scheme, theme in THEMES.items():
                        picture = svg(screen.screen, title, theme)
                        (target / f"{name}-{scheme}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER))
