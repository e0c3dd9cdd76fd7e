"""The simple commands that the demo model understands, in English and Chinese.

Text in, wishes out; which tools there are and what comes of them is not known here.
"""

import re
from typing import Any

import msgspec

Json = dict[str, Any]


class Wish(msgspec.Struct, frozen=True):
    """A tool that a person wants used."""

    tool: str
    arguments: Json = {}


class _Command(msgspec.Struct, frozen=True):
    """A form of words for a tool; its named groups are the tool's arguments."""

    tool: str
    pattern: re.Pattern[str]


def _command(tool: str, *forms: str) -> _Command:
    return _Command(tool, re.compile("|".join(forms), re.IGNORECASE | re.DOTALL))


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
    for command in _COMMANDS:
        if match := command.pattern.fullmatch(asked):
            given = {name: value for name, value in match.groupdict().items() if value}
            if command.tool == "write_file":
                given.setdefault("content", "")
            return Wish(command.tool, given)
    return None
