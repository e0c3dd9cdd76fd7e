"""The union of all events in the OpenAPI document, against the page that explains them and against
events that real programs made."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.support.event_schema import check_events
from trunkline.control.api import openapi
from trunkline.control.api.http import ROUTES

Json = dict[str, Any]
TESTS = Path(__file__).parents[3]
PAGE = TESTS.parent / "docs/protocols/events.md"
# Words of a type's row that are none of its fields or values: other types, other names, files.
ASIDE = {"read_skill_file", "yeaft"}


@pytest.fixture(scope="module")
def document() -> Json:
    return openapi.describe(ROUTES)


def rows() -> dict[str, set[str]]:
    """Every type of the page with the words that are said of it."""
    found: dict[str, set[str]] = {}
    text = PAGE.read_text(encoding="utf-8")
    for line in text.partition("## Event types")[2].partition("\n## ")[0].splitlines():
        if row := re.match(r"\| `(\w+)` \|(.*)", line):
            found.setdefault(row[1], set()).update(words(row[2]))
    return found


def words(text: str) -> set[str]:
    return {word for code in re.findall(r"`([^`]+)`", text) for word in re.findall(r"\w+", code)}


def of_any_event() -> set[str]:
    text = PAGE.read_text(encoding="utf-8")
    titles = ("Fields of any event", "Events as machines send them", "Groups")
    return {
        word
        for title in titles
        for word in words(text.partition(f"## {title}\n")[2].partition("\n## ")[0])
    }


def named(schema: Any, document: Json) -> set[str]:
    """Every field and every value that a schema names, at any depth."""
    match schema:
        case {"$ref": str(ref)}:
            return named(document["components"]["schemas"][ref.rsplit("/", 1)[1]], document)
        case dict():
            own = {*schema.get("properties", ()), *map(str, schema.get("enum", ()))}
            about = words(str(schema.get("description", "")))
            return own.union(about, *(named(one, document) for one in schema.values()))
        case list():
            return set().union(*(named(one, document) for one in schema))
    return set()


def test_the_union_has_the_types_and_fields_of_the_page_and_no_others(document: Json) -> None:
    union = document["components"]["schemas"]["Event"]
    mapping = union["discriminator"]["mapping"]
    explained, everywhere = rows(), of_any_event()
    assert set(mapping) == set(explained)
    assert [one["$ref"] for one in union["oneOf"]] == list(mapping.values())
    for kind, ref in mapping.items():
        schema = document["components"]["schemas"][ref.rsplit("/", 1)[1]]
        fields = set(schema["properties"]) - {"type"}
        assert fields <= explained[kind] | everywhere, f"not explained: {kind}"
        said = explained[kind] - named(schema, document) - ASIDE - set(mapping) - {"true"}
        assert not said, f"not in the schema of {kind}"


def golden_events() -> dict[str, list[Json]]:
    """What real programs said, as the events that are made of it."""
    runtimes = TESTS / "unit/execution/runtimes"
    found: dict[str, list[Json]] = {}
    for path in runtimes.glob("claude_code/golden/*.events.json"):
        told = json.loads(path.read_text(encoding="utf-8"))
        found[path.name] = [{"type": kind, **fields} for _, kind, fields in told]
    for path in runtimes.glob("acp/golden/*.json"):
        found[path.name] = json.loads(path.read_text(encoding="utf-8"))["events"]
    for path in (TESTS / "wire/yeaft/golden/session").glob("*.json"):
        found[path.name] = json.loads(path.read_text(encoding="utf-8"))["said"]
    return found


@pytest.mark.parametrize("name", sorted(golden_events()))
def test_events_of_real_programs_are_as_the_document_says(name: str) -> None:
    check_events(golden_events()[name])


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "text_chunk"},
        {"type": "text_chunk", "content": 5},
        {"type": "approval_request", "request_id": "q", "kind": "confirm"},
        {"type": "nobody_knows", "content": ""},
        {"content": "no type"},
    ],
)
def test_what_is_no_event_does_not_fit_the_union(document: Json, odd: Json) -> None:
    schema = {"$ref": "#/components/schemas/Event", "components": document["components"]}
    assert jsonschema_rs.is_valid(schema, {"type": "text_chunk", "content": "hi", "more": [1]})
    assert not jsonschema_rs.is_valid(schema, odd)


def test_pages_snapshots_and_streams_of_events_are_typed_by_the_union(document: Json) -> None:
    schemas = document["components"]["schemas"]
    event = {"$ref": "#/components/schemas/Event"}
    assert schemas["ReadEvent"]["properties"]["event"] == event
    read = {"$ref": "#/components/schemas/ReadEvent"}
    assert schemas["EventPage"]["properties"]["items"]["items"] == read
    assert schemas["Snapshot"]["properties"]["events"]["items"] == read
    stream = document["paths"]["/api/v1/sessions/{session_id}/stream"]["get"]["responses"]["200"]
    frame = stream["content"]["text/event-stream"]["schema"]["$ref"].rsplit("/", 1)[1]
    logged, resync = schemas[frame]["oneOf"]
    assert logged["properties"] == {"id": {"type": "string"}, "data": event}
    assert resync["properties"]["event"] == {"const": "resync"}


def test_what_is_returned_says_of_every_field_whether_it_may_be_left_out(document: Json) -> None:
    schemas = document["components"]["schemas"]
    assert set(schemas["Session"]["required"]) == set(schemas["Session"]["properties"])
    assert schemas["NewAgent"]["required"] == ["name"]
    assert "ts" not in schemas["TextChunkEvent"]["required"]
