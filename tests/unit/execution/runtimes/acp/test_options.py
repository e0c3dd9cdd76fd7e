"""Modes and models of three generations, found by the names that people use."""

from typing import Any

import pytest

from trunkline.execution.runtimes.acp.options import Change, Options

Json = dict[str, Any]
LISTS: Json = {
    "modes": {
        "availableModes": [{"id": "https://x/modes#agent", "name": "Agent"}, {"id": "plan"}],
        "currentModeId": "https://x/modes#agent",
    },
    "models": {
        "availableModels": [{"modelId": "a/one", "name": "One"}, {"modelId": "b/two"}],
        "currentModelId": "a/one",
    },
}
CONFIG: Json = {
    "configOptions": [
        {
            "id": "chosen",
            "category": "model",
            "currentValue": "a/one",
            "options": [
                {"value": "a/one", "name": "One"},
                {"name": "More", "options": [{"value": "b/two", "name": "Two"}]},
            ],
        }
    ]
}


def options(*told: Json) -> Options:
    made = Options()
    for one in told:
        made.learn(one)
    return made


@pytest.mark.parametrize("wanted", ["b/two", "two", "TWO"])
def test_a_model_is_found_by_its_id_and_by_the_end_of_it(wanted: str) -> None:
    change = options(LISTS).change("model", wanted)
    assert change == Change("session/set_model", {"modelId": "b/two"})


@pytest.mark.parametrize("wanted", ["b/two", "Two", "two"])
def test_config_options_are_preferred_to_lists(wanted: str) -> None:
    for told in ((LISTS, CONFIG), (CONFIG, LISTS)):
        change = options(*told).change("model", wanted)
        assert change == Change(
            "session/set_config_option", {"configId": "chosen", "value": "b/two"}
        )


def test_what_is_so_already_needs_no_change() -> None:
    made = options(LISTS)
    assert made.change("mode", "agent") is None
    assert made.change("mode", "plan") == Change("session/set_mode", {"modeId": "plan"})
    assert made.change("mode", "plan") is None


def test_readers_are_told_names_and_only_of_changes() -> None:
    made = Options()
    told = made.learn(LISTS)
    assert told["mode"] == "Agent"
    assert told["model_info"] == {"model": "One", "models": ["One", "b/two"]}
    assert made.learn(LISTS) == {}
    assert made.learn({"currentModeId": "plan"})["mode"] == "plan"


def test_what_is_not_offered_is_refused_with_what_is() -> None:
    with pytest.raises(LookupError, match="One, b/two"):
        options(LISTS).change("model", "three")
    with pytest.raises(LookupError, match="no choice"):
        Options().change("mode", "plan")


@pytest.mark.parametrize(
    "told",
    [
        {"modes": 7, "models": [], "configOptions": {}},
        {"configOptions": [None, 7, {"id": 7, "category": "model"}, {"category": ["model"]}]},
        {"modes": {"availableModes": [None, {"id": 7}], "currentModeId": {}}},
        {"configOptions": [{"id": "mode", "options": [{"options": [7]}], "currentValue": True}]},
    ],
)
def test_what_is_broken_offers_nothing(told: Json) -> None:
    assert options(told).status() == {}
