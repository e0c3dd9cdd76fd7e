"""What a checkpoint holds: the conversation and the running turn, as plain values.

Nodes return parts of it, edges read it. Old checkpoints have to open: fields are only added.
"""

import operator
from typing import Annotated, NotRequired, TypedDict

from trunkline.execution.json_object import Json
from trunkline.execution.llm.base import Message, ToolCall

OUTSIDE_MAX = 20

Todos = list[Json]
"""`title` and `status` of each."""


class Above(TypedDict):
    """A tool call of `agent` that gave a sub-agent its task."""

    call: ToolCall
    agent: str


class Question(TypedDict):
    """What a person is asked; becomes an `approval_request`. `expires_at` is in Unix seconds.
    `above`: the calls that wait with it, outermost first. `rule`: what "always" will mean."""

    request_id: str
    tool_call_id: str
    tool_name: str
    tool_input: Json
    message: str
    kind: str
    rule: NotRequired[str]
    options: NotRequired[list[str]]
    agent: NotRequired[str]
    parent_tool_call_id: NotRequired[str]
    timeout_seconds: float
    expires_at: float
    above: NotRequired[list[Above]]


class Verdict(TypedDict, total=False):
    """Why a tool call is not run: it was refused, or a person has already answered it. `denied`:
    it was refused by a person or a rule, which is no failure of the tool. `granted`: the question
    whose answer gives the call more than the fence allows."""

    granted: str
    refused: str
    denied: bool
    answer: str


class Repeat(TypedDict):
    """The newest result of a call, and how often in a row that call has had it."""

    result: str
    times: int


def _newest(_before: Todos, after: Todos) -> Todos:
    return after


def _union(before: list[str], more: list[str]) -> list[str]:
    return list(dict.fromkeys([*before, *more]))[:OUTSIDE_MAX]


class State(TypedDict, total=False):
    """The graph's state. All but `messages`, `outside` and `todos` belongs to the turn."""

    messages: Annotated[list[Message], operator.add]
    outside: Annotated[list[str], _union]
    """The tools that have brought in what did not come from the session's user."""
    turn_id: str
    memories: list[str]
    model_calls: int
    tool_calls: int
    failures: int
    """Of the newest step."""
    repeats: dict[str, Repeat]
    """By call (`loops`)."""
    questions: list[Question]
    verdicts: dict[str, Verdict]
    """By tool call; one that has none is run."""
    waits: dict[str, list[str]]
    """By tool call of the newest step, those that it has to wait for (`order`)."""
    todos: Annotated[Todos, _newest]
    """What the agent has noted to do (`todo_write`); stays from turn to turn."""
    squeeze: int
    """Tokens that the conversation has to fit into before the model is asked; 0: it fits."""


class Step(TypedDict):
    """One tool call on its way to `act`."""

    call: ToolCall
    verdict: Verdict
    waits: NotRequired[list[str]]
    """Calls beside it that have to be over first."""
    before: NotRequired[Repeat]
    """What the same call brought before."""


def new_turn(turn_id: str, messages: list[Message]) -> State:
    """The input that starts a turn: `messages` are added to what was said before."""
    return State(
        messages=messages,
        turn_id=turn_id,
        memories=[],
        model_calls=0,
        tool_calls=0,
        failures=0,
        repeats={},
        questions=[],
        verdicts={},
        waits={},
        squeeze=0,
    )
