"""Which runtimes a machine has, by its own words, and what is refused there."""

from typing import Any, get_args

import msgspec
import pytest

from trunkline import names
from trunkline.control.machines.runtimes import Runtime, Runtimes, problem, runtimes_of, stored
from trunkline.control.machines.traits import KINDS
from trunkline.control.records.fields import Preset, RuntimeType

VM = KINDS["vm"]
OPENCODE = {"acp": {"preset": "opencode"}}


def said(*usable: str, **details: Any) -> dict[str, object]:
    return {"runtimes": list(usable), "runtime_details": details}


def refusal(runtime: str, has: Runtimes, config: dict[str, Any] | None = None) -> tuple[int, str]:
    found = problem(runtime, config or {}, has, VM, "m-1")
    return (0, "") if found is None else (found.status, found.message)


def test_what_records_take_is_what_there_is() -> None:
    assert get_args(RuntimeType) == names.RUNTIMES
    assert get_args(Preset) == names.ACP_PRESETS


def test_a_list_of_names_is_enough() -> None:
    assert runtimes_of(said("semigraph", "own-one")) == {
        "semigraph": Runtime(True),
        "own-one": Runtime(True),
    }


def test_details_say_versions_and_what_is_missing() -> None:
    found = runtimes_of(
        said(
            "acp",
            acp={"usable": True, "version": "0.12", "presets": {"goose": {"usable": False}}},
            openclaw={"usable": False, "reason": "not there", "install": "do this"},
        )
    )
    assert found["acp"] == Runtime(True, version="0.12", presets={"goose": Runtime(False)})
    assert found["openclaw"] == Runtime(False, reason="not there", install="do this")
    assert stored(msgspec.to_builtins(found)) == found


def test_the_list_decides_whatever_the_details_claim() -> None:
    found = runtimes_of(said("acp", acp={"usable": False}, openclaw={"usable": True}))
    assert found["acp"].usable
    assert not found["openclaw"].usable


@pytest.mark.parametrize(
    "health",
    [
        None,
        {},
        {"runtimes": None},
        {"runtimes": {"semigraph": True}},
        {"runtimes": "semigraph"},
        {"runtimes": [], "runtime_details": []},
        {"runtimes": [1, None, ["semigraph"]], "runtime_details": "x"},
    ],
)
def test_what_is_no_list_says_nothing(health: dict[str, object] | None) -> None:
    assert runtimes_of(health) == {}


def test_what_a_machine_says_is_bounded() -> None:
    deep: dict[str, Any] = {"usable": True}
    for _ in range(50):
        deep = {"usable": True, "version": "x" * 10_000, "presets": {"again": deep}}
    many = {f"r{number}": {"usable": True, "version": 7} for number in range(500)}
    found = runtimes_of(
        {
            "runtimes": ["x" * 1000, *(f"n{number}" for number in range(500))],
            "runtime_details": {"acp": deep, "x" * 1000: {}, "odd": "text", **many},
        }
    )
    assert len(found) <= 40
    assert max(map(len, found)) <= 40
    assert found["r1"].version is None
    assert len(msgspec.json.encode(found)) < 16_384


def test_a_machine_that_has_not_been_heard_is_asked_for_what_is_known() -> None:
    for runtime in names.RUNTIMES:
        assert refusal(runtime, None) == (0, "")
    assert refusal("nope", None)[0] == 400


def test_a_machine_that_says_nothing_takes_what_is_documented() -> None:
    assert refusal("semigraph", {}) == (0, "")
    assert refusal("openclaw", {}) == (0, "")
    status, message = refusal("claude-code", {})
    assert status == 409
    assert "it has: openclaw, semigraph" in message


def test_what_a_machine_lacks_is_refused_with_the_reason_and_what_is_there() -> None:
    has = runtimes_of(
        said(
            "semigraph", "acp", openclaw={"reason": "Node.js is too old", "install": "pip install"}
        )
    )
    status, message = refusal("openclaw", has)
    assert status == 409
    assert message == (
        "the machine 'm-1' has no runtime 'openclaw': Node.js is too old (pip install);"
        " it has: acp, semigraph"
    )


def test_an_unknown_runtime_is_refused_with_the_nearest_name() -> None:
    status, message = refusal("semigrap", runtimes_of(said("semigraph")))
    assert status == 400
    assert "did you mean 'semigraph'?" in message


def test_a_runtime_that_only_the_machine_knows_is_taken() -> None:
    assert refusal("own-one", runtimes_of(said("semigraph", "own-one"))) == (0, "")


def test_acp_needs_a_program_that_is_there() -> None:
    presets = {"opencode": {"usable": True}, "goose": {"usable": False, "reason": "not there"}}
    has = runtimes_of(said("acp", acp={"usable": True, "presets": presets}))
    assert refusal("acp", has, OPENCODE) == (0, "")
    assert refusal("acp", has, {"acp": {"command": ["x"]}}) == (0, "")
    assert refusal("acp", has)[0] == 400
    status, message = refusal("acp", has, {"acp": {"preset": "goose"}})
    assert status == 409
    assert "has no ACP program 'goose': not there; it has: opencode" in message


def test_a_preset_that_the_machine_says_nothing_of_is_taken() -> None:
    assert refusal("acp", runtimes_of(said("acp")), OPENCODE) == (0, "")


@pytest.mark.parametrize(
    ("kind", "runtime", "status"),
    [
        ("yeaft", "anything", 0),
        ("agp", "openclaw", 0),
        ("agp", "anything", 400),
        ("group", "anything", 400),
        ("group", "semigraph", 0),
    ],
)
def test_other_kinds_of_machines_have_no_list(kind: str, runtime: str, status: int) -> None:
    found = problem(runtime, {}, {}, KINDS[kind], "m-1")
    assert (0 if found is None else found.status) == status
