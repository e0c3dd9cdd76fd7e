"""The scenario `runtimes`: the first word of each runtime through the whole system, beside its
program run by hand, against the same scripted model; and the memory of its own."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import psutil

from bench import budgets
from bench.node.by_hand import AcpByHand, ByHand, ClaudeByHand
from bench.node.first_word import System
from bench.node.openclaw_by_hand import OpenClawByHand
from bench.processes import StartError
from bench.results import Metric, Results
from trunkline.execution.home import Home
from trunkline.execution.runtimes import programs
from trunkline.execution.runtimes.acp import presets

CACHE = Home(Path(__file__).parents[2] / ".programs")
"""Where `make programs` puts them."""
BY_HAND = " by hand"
KEY = "none"


class Runtime(NamedTuple):
    name: str
    """Of the program."""
    fields: dict[str, Any]
    """Of its sessions."""
    weighed: dict[str, str]
    """By the row of its memory, what shows a process to be it: an argument, or a file's name."""


RUNTIMES = (
    Runtime(
        "claude-code",
        {"runtime_type": "claude-code", "agent_config": {"model": "claude-sonnet-4-5"}},
        {"claude-code": "--input-format"},
    ),
    *(
        Runtime(
            preset,
            {
                "runtime_type": "acp",
                "agent_config": {"model": "gpt-bench", "acp": {"preset": preset}},
            },
            {preset: argument},
        )
        for preset, argument in (("opencode", "acp"), ("copilot", "--acp"))
    ),
    Runtime(
        "openclaw",
        {"runtime_type": "openclaw", "agent_config": {"model": "gpt-bench"}},
        {
            # One for all sessions of a machine, and one for each session.
            "openclaw, its gateway": "trunkline.execution.runtimes.openclaw.guard",
            "openclaw, a bridge": "main.js",
        },
    ),
)


def runtimes(number: int, results: Results) -> list[str]:
    """Gives what failed; what is not installed is left out, and said once."""
    failed = []
    for runtime in RUNTIMES:
        if not programs.locate(runtime.name, CACHE, os.environ):
            if not number:
                results.notes.append(f"{runtime.name} is not installed here, and left out.")
            continue
        try:
            with _model() as urls, tempfile.TemporaryDirectory(prefix="bench-") as folder:
                _round(runtime, urls, Path(folder), results)
        except (StartError, OSError, TimeoutError) as error:
            failed.append(f"runtimes, {runtime.name}: {error}")
    return failed


def _round(runtime: Runtime, urls: dict[str, str], folder: Path, results: Results) -> None:
    """Turn by turn, here and there: what the host takes from one, it takes from the other."""
    user, whole = folder / "user", folder / "whole"
    user.mkdir()
    whole.mkdir()
    paths = [*_bins(), os.environ["PATH"]]
    more = {"HOME": str(user), "PATH": ":".join(paths)}
    more |= {"ANTHROPIC_BASE_URL": urls["anthropic_url"], "ANTHROPIC_API_KEY": KEY}
    with contextlib.ExitStack() as system_ends:
        with contextlib.ExitStack() as by_hand_ends:
            by_hand = _by_hand(runtime, urls, user)
            by_hand_ends.callback(by_hand.stop)
            system = System(whole, urls["openai_url"], more)
            system_ends.callback(system.stop)
            session = system.session(runtime.fields)
            events = system.stream(session)
            for _ in range(budgets.RUNTIME_WARM_TURNS):
                by_hand.turn_ms()
                _turn_ms(system, session, events)
            times_ms = [
                (by_hand.turn_ms(), _turn_ms(system, session, events))
                for _ in range(budgets.RUNTIME_TURNS)
            ]
        for row, argument in runtime.weighed.items():
            results.add(Metric.RUNTIME_MEMORY, row, _memory_mib(argument))
    for name, of_one in zip(
        (runtime.name + BY_HAND, runtime.name), zip(*times_ms, strict=True), strict=True
    ):
        results.add(Metric.RUNTIME_FIRST_WORD, name, median(of_one))


def _turn_ms(system: System, session: str, events: Any) -> float:
    began = time.monotonic()
    system.call("POST", f"/sessions/{session}/messages", {"message": "hello"})
    took_ms = 0.0
    while line := events.readline():
        if not line.startswith(b"data: {"):
            continue
        event = json.loads(line[6:])
        if event["type"] == "text_chunk" and not took_ms:
            took_ms = (time.monotonic() - began) * 1000
        elif event["type"] == "execution_error":
            raise StartError(str(event))
        elif event["type"] == "execution_complete":
            return took_ms
    raise StartError("the stream ended")


def _memory_mib(argument: str) -> float:
    """Of the program and what it has started, shared pages left out."""
    for one in psutil.Process().children(recursive=True):
        words = one.cmdline()
        if argument in words or argument in [Path(word).name for word in words]:
            family = [one, *one.children(recursive=True)]
            return sum(member.memory_full_info().uss for member in family) / 2**20
    raise StartError("the program is not running")


def _by_hand(runtime: Runtime, urls: dict[str, str], user: Path) -> ByHand:
    env = {"PATH": ":".join([*_bins(), os.environ["PATH"]]), "HOME": str(user)}
    if runtime.name == "claude-code":
        env |= {"ANTHROPIC_BASE_URL": urls["anthropic_url"], "ANTHROPIC_API_KEY": KEY}
        env |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
        argv = [*programs.locate("claude-code", CACHE, env), "-p", "--verbose"]
        argv += ["--input-format", "stream-json", "--output-format", "stream-json"]
        argv += ["--include-partial-messages", "--model", "claude-sonnet-4-5"]
        return ClaudeByHand(argv, user, env)
    if runtime.name == "openclaw":
        program = programs.locate("openclaw", CACHE, env)
        folder = user / "gateway"
        folder.mkdir()
        return OpenClawByHand(program, urls["openai_url"], KEY, folder, env)
    llm = {"providers": {"openai": {"base_url": urls["openai_url"]}}}
    wanted = presets.wanted_of("gpt-bench", "never", {"openai": KEY}, llm, {})
    config = presets.AcpConfig(preset=runtime.name)
    launch = presets.launch(config, wanted, CACHE, env)
    return AcpByHand(list(launch.argv), user, launch.env).open(user)


def _bins() -> list[str]:
    return [str(CACHE.programs / one.name / "node_modules" / ".bin") for one in RUNTIMES]


@contextlib.contextmanager
def _model() -> Iterator[dict[str, str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.model_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps([{"text": "Hello to you too"}]) + "\n")
        process.stdin.flush()
        yield json.loads(process.stdout.readline())
    finally:
        process.stdin.close()
        process.wait()
