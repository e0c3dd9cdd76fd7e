"""LangGraph, CVE-2025-64439 (GHSA-wwqv-p2pp-99h5, as JSON), CVE-2026-28277 (GHSA-g48c-2wqr-h844, as
msgpack) and CVE-2026-27794 (GHSA-mhr3-j7m5-c7c9, as pickle): what was stored named a class or a
function, and whoever opened it called it.

Snapshots of sessions come from the control plane and lie on disk: they hold values, and make none.
"""

import base64
import json
import pickle
from pathlib import Path
from typing import Any

import msgspec
import ormsgpack
import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from trunkline.execution.checkpoint.values import decode
from trunkline.execution.orchestrator.session import plain_serializer


class Touch:
    """Makes a file where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return Path.touch, (self.path,)


def constructors(path: Path) -> dict[str, tuple[str, bytes]]:
    """Ways to name a call, by which of the serializer's formats they use."""
    revived = {
        "lc": 2,
        "type": "constructor",
        "id": ["pathlib", "Path"],
        "method": [None, "touch"],
        "args": [str(path)],
        "kwargs": {},
    }
    system = {"lc": 2, "type": "constructor", "id": ["os", "system"], "args": [f"touch {path}"]}
    packed = [
        ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(["os", "system", f"touch {path}"])))
        for code in range(6)
    ]
    many = [
        ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(["os", "system", [f"touch {path}"]])))
        for code in range(6)
    ]
    found = {
        "pickle": ("pickle", pickle.dumps(Touch(path))),
        "json": ("json", json.dumps(revived).encode()),
        "json system": ("json", json.dumps(system).encode()),
        "json nested": ("json", json.dumps({"a": [system]}).encode()),
    }
    for number, data in enumerate([*packed, *many]):
        found[f"msgpack {number}"] = ("msgpack", data)
    return found


@pytest.mark.parametrize("name", sorted(constructors(Path("x"))))
def test_no_checkpoint_has_anything_called(tmp_path: Path, name: str) -> None:
    made = tmp_path / "made"
    kind, data = constructors(made)[name]
    text = json.dumps({"type": kind, "base64": base64.b64encode(data).decode()}).encode()
    try:
        value = decode(plain_serializer(), msgspec.Raw(text))
    except Exception:
        value = None
    assert not made.exists()
    assert value is None or isinstance(value, str | int | dict | list | tuple | ormsgpack.Ext)


def test_the_danger_is_there_without_our_choice_of_serializer(tmp_path: Path) -> None:
    """What this test is about can happen: else it would prove nothing."""
    made = tmp_path / "made"
    assert pickle.loads(pickle.dumps(Touch(made))) is None
    assert made.exists()
    assert type(plain_serializer()) is JsonPlusSerializer
