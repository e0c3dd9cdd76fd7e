"""The check of arguments: clear to a model, and safe against schemas of strangers."""

from typing import Any

import pytest

from trunkline import limits
from trunkline.execution.tools.arguments import TOOL_ARGUMENTS_BYTES_MAX, ArgumentCheck
from trunkline.execution.tools.base import object_schema

CHECK = ArgumentCheck(
    object_schema(
        {
            "path": {"type": "string", "minLength": 1},
            "limit": {"type": "integer", "minimum": 1},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        required=["path"],
    )
)


def test_good_arguments_have_no_problem() -> None:
    assert CHECK.problem({"path": "a", "limit": 3, "tags": ["x"]}) is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "'path' is a required property"),
        ({"path": 1}, "path: 1 is not of type 'string'"),
        ({"path": ""}, "path: "),
        ({"path": "a", "limit": 0}, "limit: 0 is less than the minimum"),
        ({"path": "a", "limit": True}, "limit: True is not of type 'integer'"),
        ({"path": "a", "tags": ["x", 2]}, "tags.1: 2 is not of type"),
        ({"path": "a", "other": 1}, "'other' was unexpected"),
        ([], "not of type 'object'"),
        (None, "not of type 'object'"),
        ("text", "not of type 'object'"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(arguments: Any, words: str) -> None:
    assert words in (CHECK.problem(arguments) or "")


def test_broken_json_of_a_model_is_explained() -> None:
    problem = CHECK.problem({"_malformed": '{"path": "a' + "x" * 100_000}) or ""
    assert "not valid JSON" in problem
    assert len(problem) < limits.TOOL_ERROR_CHARS_MAX + 200


def test_a_complaint_does_not_repeat_a_huge_value() -> None:
    problem = CHECK.problem({"path": ["x" * 1_000_000]}) or ""
    assert 0 < len(problem) < 3 * limits.TOOL_ERROR_CHARS_MAX


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"path": nested(100_000)}, "nested too deeply"),
        ({"path": "half of a pair \ud800"}, "not valid Unicode"),
        ({"path": "a", "limit": float("inf")}, "not finite"),
        ({"path": "x" * (TOOL_ARGUMENTS_BYTES_MAX + 1)}, "over"),
    ],
    ids=["deep", "surrogate", "infinite", "large"],
)
def test_arguments_that_no_tool_could_handle_are_refused(arguments: Any, words: str) -> None:
    assert words in (CHECK.problem(arguments) or "")


DOUBLING = {
    "type": "object",
    "$defs": {
        "a0": {"type": "string"},
        **{f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n - 1}"}] * 2} for n in range(1, 60)},
    },
    "properties": {"x": {"$ref": "#/$defs/a59"}},
}


@pytest.mark.parametrize(
    "schema",
    [
        DOUBLING,
        {"type": "object", "$ref": "#"},
        {"type": "object", "$ref": "http://127.0.0.1:1/schema.json"},
        {"type": "object", "properties": {"x": {"pattern": "(a+)+$"}}},
        {"type": "object", "patternProperties": {"(x+x+)+y": {}}, "additionalProperties": False},
        {"type": "object", "properties": {"x": {"not": {"pattern": "b"}}}},
        {"type": "object", "properties": {"x": {"oneOf": [{"pattern": "a"}, {"pattern": "c"}]}}},
        {"type": "object", "properties": {"x": {"prefixItems": [{}], "items": False}}},
        {"type": "object", "properties": {"x": {"minimum": "odd"}}},
        {"type": "object", "properties": {"x": {"exclusiveMinimum": True}}},
        {"type": 7},
        {"properties": []},
        {"$dynamicRef": "#x", "$schema": "urn:unknown"},
    ],
    ids=lambda schema: str(schema)[:60],
)
def test_a_schema_that_is_odd_or_hostile_is_checked_as_far_as_it_can_be(schema: Any) -> None:
    value = "a" * 40 + "b"
    assert ArgumentCheck(schema).problem({"x": value}) is None


def test_a_property_named_like_a_keyword_is_a_property() -> None:
    schema = {"type": "object", "properties": {"pattern": {"type": "integer"}}}
    assert "not of type 'integer'" in (ArgumentCheck(schema).problem({"pattern": "x"}) or "")


def test_combined_schemas_are_checked() -> None:
    schema = {
        "type": "object",
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        "properties": {"a": {"oneOf": [{"type": "string"}, {"type": "null"}]}},
    }
    check = ArgumentCheck(schema)
    assert check.problem({"a": None}) is None
    assert check.problem({"b": 1}) is None
    assert check.problem({}) is not None
    assert check.problem({"a": 1}) is not None


def test_a_deeply_nested_schema_is_checked_at_its_top() -> None:
    schema: Any = {"type": "string"}
    for _ in range(2000):
        schema = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    assert ArgumentCheck(schema).problem({"x": 1}) is not None
