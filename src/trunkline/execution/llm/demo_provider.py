"""The demo model: shows what agents do here, with real tools and no key. It says what it is.

It understands a few commands, in English and Chinese, answers a tool's result by showing it, and
hands free text to the local model.
"""

import contextlib
import re
from collections.abc import AsyncGenerator
from uuid import uuid4

import msgspec

from trunkline.execution.errors import ModelError
from trunkline.execution.json_object import Json
from trunkline.execution.llm.base import (
    BaseLLMProvider,
    Call,
    Message,
    Piece,
    Reply,
    Text,
    Thinking,
    ToolCall,
    Usage,
)

HELP = """\
I am the built-in demo model of Trunkline. I am a small program, not an AI: I understand a few \
commands and use real tools on this machine.

- `list the files here`, `read <file>`, `write <file>: <text>`, `search <words>`
- `run <command>`, `python <code>`
- `search the web for <words>`, `fetch <address>`
- `remember <something>`, `recall <something>`
- `ask me <question>`, `delegate to <agent>: <task>`

Several commands, one to a line, run at the same time. Anything else goes to the small local \
model (SmolLM2, 135 million parameters), if it is installed. For a real model, set an OpenAI or \
Anthropic API key or a base URL.

I understand Chinese too: 帮助, 列出文件, 读取, 写入, 搜索, 运行, 记住, 问我.
"""

HELP_ZH = """\
我是 Trunkline 内置的演示模型。我只是一个小程序，不是人工智能：\
我认识几条简单的命令，会在这台机器上使用真正的工具。

- `列出文件`、`读取 <文件>`、`写入 <文件>：<内容>`、`搜索 <词>`
- `运行 <命令>`、`python <代码>`
- `上网搜索 <词>`、`抓取 <网址>`
- `记住 <内容>`、`回忆 <内容>`
- `问我 <问题>`、`委托 <智能体>：<任务>`

每行一条命令时，它们会同时执行。其他文字交给本机的小模型（SmolLM2，1.35 亿参数），如果已经安装。\
要用真正的模型，请设置 OpenAI 或 Anthropic 的 API key，或者 base URL。
"""

INTRODUCTION = (
    "This is the built-in demo model: a small program that understands a few commands (say "
    "“help”). Set an API key for a real model."
)
INTRODUCTION_ZH = (
    "这是内置的演示模型：一个只认识几条命令的小程序（输入“帮助”）。要用真正的模型，请设置 API key。"
)

NO_TOOL = "This agent has no tool `{tool}`, so I cannot do that."
NO_TOOL_ZH = "这个智能体没有工具 `{tool}`，所以我做不到。"

FREE_TEXT = (
    "I am only the built-in demo model and understand a few commands: say `help`. Free text would "
    "go to the small local model, but: {reason}\n\nFor real answers, set an OpenAI or Anthropic "
    "API key, or the base URL of an OpenAI-compatible server."
)
FREE_TEXT_ZH = (
    "我只是内置的演示模型，只认识几条命令：输入 `帮助` 查看。"
    "其他文字本来交给本机的小模型，但是：{reason}\n\n"
    "想要真正的回答，请设置 OpenAI 或 Anthropic 的 API key，或者兼容 OpenAI 的服务器的 base URL。"
)


class Wish(msgspec.Struct, frozen=True):
    """A tool that a person wants used."""

    tool: str
    arguments: Json = {}


def _command(tool: str, *forms: str) -> tuple[str, re.Pattern[str]]:
    """A form of words for a tool; its named groups are the tool's arguments."""
    return tool, re.compile("|".join(forms), re.IGNORECASE | re.DOTALL)


# Python has no two groups of one name in a pattern, so each language has its own command.
_COMMANDS = (
    _command(
        "list_files",
        r"(?:list|show)(?: me)?(?: all)?(?: the)? files(?: here)?(?: (?:in|of) (?P<path>\S+?))?"
        r"[.!?]?",
    ),
    _command("list_files", r"ls(?: (?P<path>[^\s-]\S*))?"),
    _command("list_files", r"(?:what|which) files are (?:here|there)\??"),
    _command("list_files", r"列出(?P<path>\S+?)(?:目录|文件夹)(?:里|中|下)?的?文件[。.]?"),
    _command("list_files", r"(?:列出|显示|看看)(?:这里|当前目录)?的?(?:所有)?文件[。.]?"),
    _command("list_files", r"(?:这里)?有(?:哪些|什么)文件[?？。]?"),
    _command("bash", r"(?:run |\$ ?)(?P<command>.+)"),
    _command("bash", r"(?:运行|执行)[:： ]+(?P<command>.+)"),
    _command("code_execution", r"python[: ]\s*(?P<code>.+)"),
    _command(
        "read_file", r"(?:read|cat|open|show)(?: me)?(?: the file)? (?P<path>\S*[^\s.?!])[.?!]?"
    ),
    _command("read_file", r"(?:读取|读|查看|打开)(?:文件)?\s*(?P<path>[\w./~-]+\.\w+)[。.]?"),
    _command("read_file", r"(?:读取|读|查看|打开)(?:文件)?\s+(?P<path>\S+)"),
    _command("write_file", r"write (?P<path>[^\s:]+)\s*:\s?(?P<content>.*)"),
    _command("write_file", r"(?:写入|写)(?:文件)? ?(?P<path>[^\s:：]+)\s*[:：]\s?(?P<content>.*)"),
    _command("web_search", r"(?:search the web|web search|google)(?: for)? (?P<query>.+)"),
    _command("web_search", r"(?:上网|网上|网络)搜索[:： ]*(?P<query>.+)"),
    _command("search_files", r"(?:search|find|grep)(?: (?:the )?files)?(?: for)? (?P<query>.+)"),
    _command("search_files", r"(?:搜索|查找)(?:文件)?[:： ]+(?P<query>.+)"),
    _command("web_fetch", r"(?:fetch|get) (?P<url>https?://\S+)"),
    _command("web_fetch", r"(?:抓取|获取) ?(?P<url>https?://\S+)"),
    _command("memory_write", r"remember(?: that)?:? (?P<content>.+)"),
    _command("memory_write", r"记住[:：，, ]*(?P<content>.+)"),
    _command(
        "memory_search",
        r"(?:recall|what do you (?:remember|know) about) (?P<query>.+?)\??",
    ),
    _command("memory_search", r"(?:回忆|想起|你记得)[:： ]*(?P<query>.+?)[?？吗]*"),
    _command("ask_user", r"ask me:? (?P<question>.+)"),
    _command("ask_user", r"问我[:：，, ]*(?P<question>.+)"),
    _command("delegate", r"delegate to (?P<agent>[^:]+?)\s*:\s*(?P<task>.+)"),
    _command("delegate", r"(?:委托|交给) ?(?P<agent>[^:：]+?)\s*[:：]\s*(?P<task>.+)"),
)
_HELP = re.compile(r"help[.!?]?|/help|\?|帮助|你能做什么[?？]?|what can you do\??", re.IGNORECASE)
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_TEXT_CHARS_MAX = 20_000
_WISHES_MAX = 10


def wishes(text: str) -> list[Wish]:
    """What the text asks for; nothing if it is free text. Several commands, one to a line, are
    several wishes at once."""
    text = text.strip()[:_TEXT_CHARS_MAX]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    found = [_wish(line) for line in lines]
    if 0 < len(found) <= _WISHES_MAX and all(found):
        return [wish for wish in found if wish is not None]
    whole = _wish(text)
    return [] if whole is None else [whole]


def wants_help(text: str) -> bool:
    return bool(_HELP.fullmatch(text.strip()[:100]))


def is_chinese(text: str) -> bool:
    return bool(_CHINESE.search(text[:_TEXT_CHARS_MAX]))


def _wish(text: str) -> Wish | None:
    asked = re.sub(r"^(?:please |请)", "", text, flags=re.IGNORECASE)
    for tool, pattern in _COMMANDS:
        if match := pattern.fullmatch(asked):
            given = {name: value for name, value in match.groupdict().items() if value}
            if tool == "write_file":
                given.setdefault("content", "")
            return Wish(tool, given)
    return None


_RESULT_CHARS_MAX = 6_000
_LOCAL = "The demo model knows no answer to free text. Handing it to the small local model."
_LOCAL_ZH = "演示模型不会回答自由文本，交给本机的小模型。"


class DemoProvider(BaseLLMProvider):
    """Answers a command with a tool call, a tool's result by showing it, and hands free text to
    the local model."""

    name = "demo"

    def __init__(self, local: BaseLLMProvider) -> None:
        self._local = local
        self._introduced = False

    async def stream(self, call: Call) -> AsyncGenerator[Piece | Usage, None]:
        asked = _asked(call.messages)
        chinese = is_chinese(asked)
        if not self._introduced:
            self._introduced = True
            words = INTRODUCTION_ZH if chinese else INTRODUCTION
            yield Thinking(words, "model")
        if results := _results(call.messages):
            answer = "\n\n".join(_shown(result, call.messages) for result in results)
        elif wants_help(asked):
            answer = HELP_ZH if chinese else HELP
        elif wanted := wishes(asked):
            offered = {spec.name for spec in call.tools}
            missing = [wish.tool for wish in wanted if wish.tool not in offered]
            if not missing:
                yield Reply(
                    model=call.model,
                    text="",
                    tool_calls=[_tool_call(wish.tool, wish.arguments) for wish in wanted],
                    stop_reason="tool_calls",
                )
                return
            words = NO_TOOL_ZH if chinese else NO_TOOL
            answer = words.format(tool=missing[0])
        else:
            async with contextlib.aclosing(self._free_text(call, chinese)) as pieces:
                async for piece in pieces:
                    yield piece
            return
        for line in answer.splitlines(keepends=True):  # in pieces, so that it is seen to stream
            yield Text(line)
        yield Reply(model=call.model, text=answer, stop_reason="stop")

    async def _free_text(self, call: Call, chinese: bool) -> AsyncGenerator[Piece | Usage, None]:
        yield Thinking(_LOCAL_ZH if chinese else _LOCAL, "model")
        said = False
        try:
            async with contextlib.aclosing(self._local.stream(call)) as pieces:
                async for piece in pieces:
                    said = said or isinstance(piece, Text)
                    yield piece
        except ModelError as error:
            if said:
                raise
            words = FREE_TEXT_ZH if chinese else FREE_TEXT
            answer = words.format(reason=error.message)
            yield Text(answer)
            yield Reply(model=call.model, text=answer, stop_reason="stop")


def _asked(messages: list[Message]) -> str:
    said = (message["content"] for message in reversed(messages) if message["role"] == "user")
    return next(said, "")


def _results(messages: list[Message]) -> list[Message]:
    """The tool results that came since the model's last answer."""
    found: list[Message] = []
    for message in reversed(messages):
        if message["role"] != "tool":
            break
        found.insert(0, message)
    return found


def _shown(result: Message, messages: list[Message]) -> str:
    """A tool's result for a person: its name and what it gave, whole lines, in a fence."""
    call_id = result.get("tool_call_id", "")
    calls = (call for message in messages for call in message.get("tool_calls") or [])
    name = next((call["name"] for call in calls if call["id"] == call_id), "tool")
    content = result["content"].rstrip()
    if len(content) > _RESULT_CHARS_MAX:
        content = content[:_RESULT_CHARS_MAX] + "\n…"
    verb = "could not do it" if result.get("is_error") else "gave"
    longest = max((len(run) for run in re.findall(r"`{3,}", content)), default=2)
    fence = "`" * (longest + 1)
    return f"`{name}` {verb}:\n\n{fence}\n{content or '(nothing)'}\n{fence}"


def _tool_call(name: str, arguments: Json) -> ToolCall:
    return ToolCall(id=f"call_{uuid4().hex[:24]}", name=name, arguments=arguments)
