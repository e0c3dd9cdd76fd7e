"""The generated documents: OpenAPI of the routes, AsyncAPI of the wire."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.unit.control.api.conftest import Api
from trunkline.control.api import asyncapi, openapi
from trunkline.control.api.http import ROUTES
from trunkline.wire.semibot.messages import DOWNLINK, UPLINK, SseEvent

Json = dict[str, Any]

# What is sent is the proof: a code, or a machine's own secret.
OPEN = ("/api/v1/join", "/api/v1/join/renew")

# What clients rely on: a route may be added, none of these may go.
PROMISED = """
POST GET /orgs
GET PATCH DELETE /orgs/{}
POST GET /users
GET PATCH DELETE /users/{}
POST GET /agents
GET PATCH DELETE /agents/{}
POST /users/{}/token
DELETE /tokens/{}
PUT /users/{}/credentials/{}
POST /users/{}/vm
POST /users/{}/login-link
GET /machines
GET DELETE /machines/{}
POST /machines/{}/token
POST /users/{}/devices
POST /users/{}/yeaft-agents
POST GET /sessions
GET PATCH DELETE /sessions/{}
POST /sessions/{}/messages
POST /sessions/{}/cancel
PATCH /sessions/{}/config
GET /sessions/{}/events
GET /sessions/{}/snapshot
GET /sessions/{}/stream
GET /approvals
POST /approvals/{}
POST GET /skills
GET /skills/{}
POST /evolutions/{}/approve
POST /evolutions/{}/reject
POST /memories
GET /memories/search
POST GET /mcp-servers
PATCH /memories/{}
PATCH /mcp-servers/{}
POST /mcp-servers/{}/test
GET /skills/{}/files/{}
GET /usage
GET /audit
GET /audit/verify
"""
OPERATOR = ["/", "/healthz", "/readyz", "/metrics", "/openapi.json", "/asyncapi.json", "/docs"]


@pytest.fixture(scope="module")
def document() -> Json:
    return openapi.describe(ROUTES)


def operations(document: Json) -> list[tuple[str, str, Json]]:
    return [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def test_every_promised_route_is_documented(document: Json) -> None:
    documented = {
        f"{method} {re.sub(r'{[^}]+}', '{}', path)}" for method, path, _ in operations(document)
    }
    for line in PROMISED.split("\n"):
        *methods, path = line.split() or [""]
        for method in methods:
            assert f"{method} /api/v1{path}" in documented
    for path in OPERATOR:
        assert f"GET {path}" in documented


def test_every_group_of_routes_says_what_it_is_for(document: Json) -> None:
    assert [one["name"] for one in document["tags"] if one["description"] == one["name"]] == []


def test_every_operation_says_what_it_takes_and_returns(document: Json) -> None:
    names = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(names) == len(set(names))
    for method, path, operation in operations(document):
        assert operation["summary"].endswith((".", "off.")), path
        assert "default" in operation["responses"], path
        in_path = {one["name"] for one in operation.get("parameters", []) if one["in"] == "path"}
        assert in_path == set(re.findall(r"{(\w+)}", path))
        if method in ("PUT", "PATCH"):
            assert "requestBody" in operation, path
        if path.startswith("/api/v1") and path not in OPEN:
            assert operation["security"], f"{path} must not be open"
            assert "401" in operation["responses"]


def test_every_reference_leads_somewhere(document: Json) -> None:
    def references(value: Any) -> list[str]:
        if isinstance(value, dict):
            own = [value["$ref"]] if "$ref" in value else []
            return own + [ref for item in value.values() for ref in references(item)]
        if isinstance(value, list):
            return [ref for item in value for ref in references(item)]
        return []

    for whole in (document, asyncapi.describe()):
        found = references(whole)
        assert found
        for reference in found:
            place: Any = whole
            for step in reference.removeprefix("#/").split("/"):
                place = place[step]


SPECS = Path(__file__).parents[4] / "clients/typescript/node_modules/@asyncapi/specs/schemas"


def test_the_documents_pass_the_validators_of_their_formats(document: Json) -> None:
    """The linter of OpenAPI documents has its own: clients/typescript/test/document.test.ts."""
    OpenAPIV31SpecValidator(document).validate()
    whole = asyncapi.describe()
    specs = jsonschema_rs.validator_for(json.loads((SPECS / "3.0.0.json").read_text()))
    specs.validate(whole)
    whole["operations"]["vm.up"]["action"] = "shout"
    assert not specs.is_valid(whole)


def test_every_schema_is_valid_json_schema(document: Json) -> None:
    for schema in [
        *document["components"]["schemas"].values(),
        *asyncapi.describe()["components"]["schemas"].values(),
    ]:
        assert jsonschema_rs.meta.is_valid(
            {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
        )


def test_bounds_are_part_of_the_document(document: Json) -> None:
    parameters = document["paths"]["/api/v1/agents"]["get"]["parameters"]
    limit = next(one for one in parameters if one["name"] == "limit")
    assert limit["required"] is False
    assert (limit["schema"]["minimum"], limit["schema"]["maximum"]) == (1, 200)
    assert document["components"]["schemas"]["NewAgent"]["required"] == ["name"]


def test_the_answer_of_a_list_names_its_items(document: Json) -> None:
    answer = document["paths"]["/api/v1/agents"]["get"]["responses"]["200"]
    reference = answer["content"]["application/json"]["schema"]["$ref"]
    page = document["components"]["schemas"][reference.rsplit("/", 1)[-1]]
    assert page["properties"]["items"]["items"] == {"$ref": "#/components/schemas/Agent"}


def test_every_message_of_every_wire_is_documented() -> None:
    document = asyncapi.describe()
    names = {message["name"] for message in document["components"]["messages"].values()}
    assert {str(kind.__struct_config__.tag) for kind in (*UPLINK, *DOWNLINK)} <= names
    # One of each direction of each of the other documents.
    assert {"session.update", "session.prompt", "user.message", "agent.thinking"} <= names
    assert {"send_message", "claude_output"} <= names
    sent = document["operations"]["vm.down"]["messages"]
    assert {"$ref": "#/channels/vm/messages/Init"} in sent
    assert len(sent) == len(DOWNLINK)
    addresses = [channel["address"] for channel in document["channels"].values()]
    assert addresses == ["/ws/vm", "/ws/agp", "/ws/myagent", "/ws/yeaft", "/ws/yeaft"]


def test_a_real_message_fits_its_documented_schema() -> None:
    document = asyncapi.describe()
    schema = {**document["components"]["schemas"]["SseEvent"], "components": document["components"]}
    message = msgspec.to_builtins(SseEvent(session_id="s", data="{}"))
    assert jsonschema_rs.is_valid(schema, message)
    assert not jsonschema_rs.is_valid(schema, {**message, "session_id": 7})


ADMINS = ("/api/v1/audit/verify", "/api/v1/audit/head", "/api/v1/server", "/api/v1/health")


async def test_real_answers_fit_their_documented_schemas(api: Api, document: Json) -> None:
    async with await api.send(None, "GET", "/openapi.json") as answer:
        assert await answer.json() == document
    ann = api.people.ann
    agent_id = await api.make(ann, "/agents", {"name": "a", "tools": ["bash"]})
    machine_id = await api.schedule(ann)
    session_id = await api.make(ann, "/sessions", {"machine_id": machine_id, "agent_id": agent_id})
    await api.call(ann, "POST", f"/sessions/{session_id}/messages", {"message": "hi"})
    places = {
        "agent_id": agent_id,
        "machine_id": machine_id,
        "session_id": session_id,
        "user_id": ann.user_id,
        "org_id": ann.org_id,
    }
    checked = 0
    for method, path, operation in operations(document):
        content = operation["responses"].get("200", {}).get("content", {})
        known = all(name in places for name in re.findall(r"{(\w+)}", path))
        if method != "GET" or "application/json" not in content or not known:
            continue
        wanting = ("/api/v1/memories/search", "/api/v1/sessions/search", "/api/v1/rules/trial")
        if path in (*wanting, *ADMINS):
            continue  # wants a query; wants an admin
        if path.endswith(("/foreign-sessions", "/files", "/diff")):
            continue  # wants the machine itself
        async with await api.send(ann, "GET", path.format(**places)) as response:
            assert response.status == 200, path
            value = await response.json()
        schema = {**content["application/json"]["schema"], "components": document["components"]}
        jsonschema_rs.validate(schema, value)
        checked += 1
    assert checked >= 20
    for path in ADMINS:
        async with await api.send(api.people.ada, "GET", path) as response:
            assert response.status == 200, path
            value = await response.json()
        answer = document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]
        jsonschema_rs.validate({**answer["schema"], "components": document["components"]}, value)
        assert (await api.call(ann, "GET", path.removeprefix("/api/v1")))[0] == 403


def test_the_packaged_pages_are_all_there() -> None:
    folder = Path(asyncapi.__file__).parent / "pages"
    used = set(
        re.findall(
            r'(?:src|href)="/pages/([\w.]+)"',
            "".join(page.read_text(encoding="utf-8") for page in folder.glob("*.html")),
        )
    )
    assert used == {"style.css", "language.js", "docs.js"}
    for name in used:
        assert (folder / name).is_file()
