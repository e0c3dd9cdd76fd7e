"""Shell completion, in a real shell whose home is a folder of the test."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
ASKED = (
    'source ~/.bashrc; IFS=" "; COMP_WORDS=({}); COMP_CWORD={}; _trunkline_completion trunkline;'
    ' printf "%s\\n" "${{COMPREPLY[@]}}"'
)


@pytest.fixture(scope="module")
def bash(tmp_path_factory: pytest.TempPathFactory) -> "Bash":
    shell = Bash(tmp_path_factory.mktemp("home"))
    # With a command after it: of a single one, the shell that is to be detected would be gone.
    assert "bash completion installed" in shell.run("trunkline --install-completion; true")
    return shell


class Bash:
    def __init__(self, home: Path) -> None:
        self.home = home
        self._env = {
            "HOME": str(home),
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "TRUNKLINE_DATA": str(home / "data"),
        }

    def run(self, code: str) -> str:
        done = subprocess.run(
            ["bash", "--norc", "-c", code],
            env=self._env,
            cwd=self.home,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("trunkline ag", {"agent"}),
        ("trunkline session ex", {"export"}),
        ("trunkline agent list --li", {"--limit"}),
    ],
)
def test_what_is_begun_is_completed(bash: Bash, words: str, found: set[str]) -> None:
    last = len(words.split()) - 1
    assert set(bash.run(ASKED.format(words, last)).split()) == found


def test_the_script_can_be_looked_at(bash: Bash) -> None:
    script = bash.run("trunkline --show-completion; true")
    assert "complete -o default -F _trunkline_completion trunkline" in script
    assert script.strip() == (bash.home / ".bash_completions/trunkline.sh").read_text().strip()


def test_zsh_completes_with_the_first_tab_of_a_shell(bash: Bash) -> None:
    """Where the function is loaded as it is first asked for; tests/terminal has a real zsh."""
    named = "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION=1 trunkline --install-completion"
    for _ in range(2):
        assert "zsh completion installed" in bash.run(f"{named} zsh")
        bash.run(f"{named} bash")  # leaves it as it is
        *_, last = (bash.home / ".zfunc/_trunkline").read_text().splitlines()
        assert last == '[[ $zsh_eval_context[-1] == loadautofunc ]] && _trunkline_completion "$@"'
