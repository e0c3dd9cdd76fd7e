"""The words that the demo model understands."""

import pytest

from trunkline.execution.llm.demo_provider import Wish, is_chinese, wants_help, wishes


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("list the files here", "list_files", {}),
        ("List files", "list_files", {}),
        ("please list the files in src", "list_files", {"path": "src"}),
        ("ls", "list_files", {}),
        ("ls docs", "list_files", {"path": "docs"}),
        ("what files are here?", "list_files", {}),
        ("列出文件", "list_files", {}),
        ("请列出这里的文件。", "list_files", {}),
        ("列出src目录里的文件", "list_files", {"path": "src"}),
        ("有哪些文件？", "list_files", {}),
        ("run ls -la | head", "bash", {"command": "ls -la | head"}),
        ("$ echo hi", "bash", {"command": "echo hi"}),
        ("运行 echo 你好", "bash", {"command": "echo 你好"}),
        ("python print(1)", "code_execution", {"code": "print(1)"}),
        ("read notes/a.txt", "read_file", {"path": "notes/a.txt"}),
        ("show me a.txt.", "read_file", {"path": "a.txt"}),
        ("读取 a.txt", "read_file", {"path": "a.txt"}),
        ("查看README.md", "read_file", {"path": "README.md"}),
        ("write a.txt: Hello: you", "write_file", {"path": "a.txt", "content": "Hello: you"}),
        ("write a.txt:", "write_file", {"path": "a.txt", "content": ""}),
        ("write a.md: one\ntwo", "write_file", {"path": "a.md", "content": "one\ntwo"}),
        ("写入 a.txt：你好", "write_file", {"path": "a.txt", "content": "你好"}),
        ("search needle", "search_files", {"query": "needle"}),
        ("search the files for two words", "search_files", {"query": "two words"}),
        ("搜索 某词", "search_files", {"query": "某词"}),
        ("search the web for news", "web_search", {"query": "news"}),
        ("上网搜索 新闻", "web_search", {"query": "新闻"}),
        ("fetch https://example.com/a", "web_fetch", {"url": "https://example.com/a"}),
        ("remember that I like tea", "memory_write", {"content": "I like tea"}),
        ("记住我喜欢茶", "memory_write", {"content": "我喜欢茶"}),
        ("recall tea", "memory_search", {"query": "tea"}),
        ("what do you know about tea?", "memory_search", {"query": "tea"}),
        ("ask me which colour I like", "ask_user", {"question": "which colour I like"}),
        ("问我喜欢什么颜色", "ask_user", {"question": "喜欢什么颜色"}),
        ("delegate to Bob: count", "delegate", {"agent": "Bob", "task": "count"}),
    ],
)
def test_a_command_is_a_wish_for_a_tool(text: str, tool: str, arguments: dict[str, str]) -> None:
    assert wishes(text) == [Wish(tool, arguments)]


def test_commands_on_lines_of_their_own_are_wished_at_once() -> None:
    assert [wish.tool for wish in wishes("ls\n\nrun date\n读取 a.txt")] == [
        "list_files",
        "bash",
        "read_file",
    ]


@pytest.mark.parametrize(
    "text",
    ["", "   ", "Hello!", "Tell me about runners", "你好", "搜索引擎是什么", "读书很好", "running"],
)
def test_free_text_is_no_wish(text: str) -> None:
    assert wishes(text) == []


@pytest.mark.parametrize(
    "text", ["x " * 100_000, "search " * 20_000, "\n" * 100_000, "列出" * 9_999]
)
def test_long_text_is_read_like_any_other(text: str) -> None:
    assert len(wishes(text)) <= 1


@pytest.mark.parametrize("text", ["help", "Help!", "?", "帮助", "what can you do?"])
def test_help_is_asked_for_in_several_ways(text: str) -> None:
    assert wants_help(text)


def test_the_language_is_seen() -> None:
    assert is_chinese("运行 ls")
    assert not is_chinese("run ls")
