"""Values of every kind that LangGraph's serializer knows, as hypothesis strategies."""

import re
from collections import deque
from dataclasses import dataclass
from datetime import UTC, timedelta, timezone
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.types import Command, Interrupt, Send
from pydantic import BaseModel


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Point:
    x: int
    note: str | None = None


class Pair(NamedTuple):
    left: Any
    right: Any


class Person(BaseModel):
    name: str
    age: int
    tags: list[str] = []


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.integers(-(2**63), 2**64 - 1)
json_plain = st.recursive(
    st.none() | st.booleans() | numbers | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=12,
)
times = st.timezones() | st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))])
calls = st.lists(
    st.fixed_dictionaries({"name": st.just("bash"), "args": st.just({"a": 1}), "id": text}),
    max_size=2,
)
messages = st.one_of(
    st.builds(HumanMessage, text, id=text),
    st.builds(SystemMessage, text),
    st.builds(AIMessage, text, tool_calls=calls, id=text),
    st.builds(ToolMessage, text, tool_call_id=text, artifact=json_plain),
)
# What JSON lacks: every one must come back as the serializer gives it, alone and nested.
special = st.one_of(
    st.binary(max_size=40),
    st.binary(max_size=40).map(bytearray),
    st.sampled_from([float("nan"), float("inf"), float("-inf"), -0.0, 5e-324]),
    st.datetimes(timezones=st.none() | times),
    st.dates(),
    st.times(),
    st.timedeltas(),
    st.uuids(),
    st.decimals(allow_nan=False),
    st.ip_addresses(),
    st.sets(numbers, max_size=4),
    st.frozensets(text, max_size=4),
    st.lists(numbers, max_size=4).map(deque),
    st.lists(text, max_size=3).map(tuple),
    st.dictionaries(st.integers(0, 9) | st.none() | st.booleans(), text, max_size=3),
    st.sampled_from([Colour.RED, Level.HIGH, ZoneInfo("Asia/Shanghai"), re.compile("a+", re.I)]),
    text.map(lambda name: Path("folder") / name.replace("\0", "")),
    st.builds(Point, numbers, st.none() | text),
    st.builds(Pair, numbers, text),
    st.builds(Person, name=text, age=st.integers(0, 99), tags=st.lists(text, max_size=2)),
    messages,
    st.builds(Document, page_content=text, metadata=st.just({"page": 1})),
    st.builds(Send, st.just("node"), json_plain),
    st.builds(Interrupt, json_plain, id=text),
    st.builds(Command, update=json_plain, goto=st.just("node")),
)
any_value = st.recursive(
    json_plain | special,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=8,
)
