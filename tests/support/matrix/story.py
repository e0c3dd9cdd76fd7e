"""What a machine does with one message, in no protocol's words; every machine can perform it."""

from dataclasses import dataclass

from tests.support.model_turns import Gate

TOOL = "bash"
"""The one tool that stories use: the execution plane really has it."""


@dataclass(frozen=True)
class Say:
    """A piece of the answer, sent at once."""

    text: str


@dataclass(frozen=True)
class Think:
    thought: str


@dataclass(frozen=True)
class Run:
    """A command and what it prints, newline included."""

    command: str
    output: str


@dataclass(frozen=True)
class Ask:
    """A question to the user; the story goes on with the answer."""

    question: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Hold:
    """Goes on when the test opens the gate."""

    gate: Gate


@dataclass(frozen=True)
class Fail:
    """The turn ends here, with an error."""

    problem: str


Beat = Say | Think | Run | Ask | Hold | Fail


def echo(text: str) -> Run:
    return Run(f"echo {text}", f"{text}\n")
