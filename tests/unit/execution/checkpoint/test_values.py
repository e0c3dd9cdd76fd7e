"""Values on disk: LangGraph's serializer decides what comes back, and JSON is used where it can."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from tests.unit.execution.checkpoint.kinds import any_value, json_plain, messages
from tests.unit.execution.checkpoint.savers import done, opened, place, put
from trunkline.execution.checkpoint.local_checkpointer import LocalCheckpointer
from trunkline.execution.checkpoint.values import CHECKPOINT_READABLE_BYTES_MAX, decode, encode

# The types of these tests are known to be harmless, so that nothing is said about them.
SERDE = JsonPlusSerializer(
    allowed_msgpack_modules=[
        ("tests.unit.execution.checkpoint.kinds", name)
        for name in ("Colour", "Level", "Point", "Pair", "Person")
    ]
)


def as_langgraph_keeps_it(value: Any) -> Any:
    return SERDE.loads_typed(SERDE.dumps_typed(value))


def stored(value: Any) -> dict[str, Any]:
    return dict(json.loads(bytes(encode(SERDE, value))))


@given(any_value)
@example({"a": [b"\x00", float("nan")]})
@example([(1, 2), {3: 4}])
@example(-0.0)
@example(2**64 - 1)
def test_every_value_comes_back_as_langgraph_would_give_it(value: Any) -> None:
    # repr tells 1 from 1.0 and True, -0.0 from 0.0, and shows NaN, which equals nothing.
    assert repr(decode(SERDE, encode(SERDE, value))) == repr(as_langgraph_keeps_it(value))


@given(json_plain)
def test_what_json_holds_is_readable(value: Any) -> None:
    assert stored(value) == {"plain": value}


@given(messages)
def test_messages_of_langchain_come_back_whole(message: Any) -> None:
    found = decode(SERDE, encode(SERDE, [message]))
    assert found == [message]
    assert type(found[0]) is type(message)


@given(any_value)
@settings(max_examples=40)
def test_values_and_writes_come_back_from_the_disk(value: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        session_dir = Path(folder) / "session-1"
        saver = LocalCheckpointer(session_dir, serde=SERDE)
        put(saver, "a", {"value": value}, mine=value)
        done(saver.aput_writes(place("a"), [("value", value)], "task"))
        found = opened(LocalCheckpointer(session_dir, serde=SERDE))
    expected = repr(as_langgraph_keeps_it(value))
    assert repr(found.checkpoint["channel_values"]["value"]) == expected
    assert repr((found.pending_writes or [])[0][2]) == expected
    # LangGraph takes zero characters out of metadata.
    described = {"mine": value.replace("\0", "") if isinstance(value, str) else value}
    kept = {"mine": found.metadata["mine"]}  # type: ignore[typeddict-item]
    assert repr(kept) == repr(as_langgraph_keeps_it(described))


@pytest.mark.parametrize("value", [b"\xff", float("nan"), {1: "a"}, {1, 2}, ["a", b"b"]])
def test_what_json_would_change_is_packed(value: Any) -> None:
    assert set(stored(value)) == {"type", "base64"}


def test_a_large_value_is_packed_because_nobody_reads_it() -> None:
    assert "plain" in stored("x" * (CHECKPOINT_READABLE_BYTES_MAX - 10))
    assert "base64" in stored("x" * CHECKPOINT_READABLE_BYTES_MAX)


def test_deep_nesting_comes_back() -> None:
    value: Any = []
    for _ in range(250):
        value = [value]
    assert repr(decode(SERDE, encode(SERDE, value))) == repr(value)


def test_an_encrypting_serializer_leaves_nothing_readable(tmp_path: Path) -> None:
    class Rot:
        def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
            return "rot", bytes(byte ^ 1 for byte in plaintext)

        def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
            return bytes(byte ^ 1 for byte in ciphertext)

    saver = LocalCheckpointer(tmp_path / "session-1", serde=EncryptedSerializer(Rot()))
    put(saver, "a", {"secret": "very secret"})
    assert b"very secret" not in (tmp_path / "session-1/checkpoints/a.json").read_bytes()
    assert opened(saver).checkpoint["channel_values"] == {"secret": "very secret"}
