"""Which commands need no question, and that nothing slips through."""

import pytest

from trunkline.execution.home import Home
from trunkline.execution.tools.commands import Bash
from trunkline.execution.tools.text_files import Paths


@pytest.fixture
def bash(paths: Paths) -> Bash:
    return Bash({}, paths)


@pytest.mark.parametrize(
    "command",
    [
        "ls",
        "ls -la projects",
        "  pwd  ",
        "cat notes.txt 'with space.txt'",
        'grep -rn "some text" .',
        "head -n 20 a.py",
        "find . -name '*.py' -type f",
        "wc -l a.md b.md",
        "grep -rn 'def .*[?]' --include='*.py' .",
        "find . -path \"./a/*\" -name '[ab]?'",
        "ls -R",
        "sha256sum a.txt",
        "echo hello",
        "which python3",
    ],
)
def test_a_simple_look_at_the_workspace_is_harmless(bash: Bash, command: str) -> None:
    assert not bash.is_dangerous({"command": command})


@pytest.mark.parametrize(
    "command",
    [
        "",
        "   ",
        "rm -rf .",
        "ls; rm x",
        "ls && rm x",
        "ls || rm x",
        "ls | sh",
        "ls & rm x",
        "ls\nrm x",
        "ls\rrm x",
        "echo hi > file",
        "cat < /etc/passwd",
        "cat $(rm x)",
        "cat `rm x`",
        "cat ${IFS}x",
        "echo $HOME",
        "cat <(rm x)",
        "cat {a,b}",
        "ls \\\n",
        "X=1 ls",
        "./ls",
        "/bin/ls",
        "sudo ls",
        "env ls",
        "xargs rm",
        "find . -delete",
        "find . -exec rm x +",
        "find . -execdir rm x +",
        "find . -ok rm x +",
        "find . -fprint out",
        "find . -fls out",
        "find . -files0-from list",
        "sort -o out in",
        "cat 'unfinished",
        "cat /etc/passwd",
        "cat ~/.ssh/id_rsa",
        "cat ../.semibot/config.json",
        "cat a/../../secret",
        "grep --file=/etc/passwd x",
        "grep -f/etc/passwd x",
        "cat .*/.semibot/config.json",
        "cat .?/x",
        "cat *",
        "wc -l *.md",
        "cat l??k/shadow",
        "head -c5 [f]",
        'cat "\'"*"\'"',
        "ls 'a'*'b'",
        "grep -R root .",
        "grep -nsR root .",
        "grep --deref root .",
        "grep -flist x",
        "find -L . -name passwd",
        "find -H a",
        "find . -follow",
        "du -L",
        "du -aH a",
        "du --files0-from=list",
        "ls -lL",
        "ls --dereference-command-line a",
        "stat -L a",
        "md5sum -c list",
        "sha256sum --che list",
        "wc --files0-from=list",
        "wc --files0=list",
        "diff -r a b",
        "ls\0",
    ],
)
def test_everything_else_is_asked_about(bash: Bash, command: str) -> None:
    assert bash.is_dangerous({"command": command})


def test_a_link_that_leads_out_is_asked_about(bash: Bash, home: Home) -> None:
    (home.workspace / "out").symlink_to("/etc")
    assert bash.is_dangerous({"command": "cat out/passwd"})


def test_a_link_that_looks_like_an_option_is_asked_about(bash: Bash, home: Home) -> None:
    (home.workspace / "-x").symlink_to("/etc/passwd")
    assert bash.is_dangerous({"command": "cat -- -x"})


def test_files_of_skills_may_be_looked_at(bash: Bash, home: Home) -> None:
    assert not bash.is_dangerous({"command": f"cat {home.skills}/pdf/SKILL.md"})


def test_a_call_without_a_command_is_asked_about(bash: Bash) -> None:
    assert bash.is_dangerous({})
