"""OpenAPI 3.1, generated from the typed routes. Nothing in it is written twice.

Serves `/openapi.json` and, through it, the page at `/docs`.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from aiohttp import web

from trunkline import __version__
from trunkline.control.access.cookies import SECURE
from trunkline.control.api import event_schema
from trunkline.control.api.framework import Route, Stream
from trunkline.control.api.responses import ErrorAnswer, PlainError
from trunkline.wire.event_types import EVENTS

Json = dict[str, Any]

_REF = "#/components/schemas/{name}"
_ERROR_REF = {"$ref": "#/components/responses/Error"}
_PLAIN_REF = {"$ref": "#/components/responses/PlainError"}
_REASONS = {
    200: "Done",
    201: "Made",
    202: "Accepted",
    204: "Done, nothing to say",
    303: "Look there",
}

_TAGS = {
    "me": "Who you are, and the end of this login.",
    "orgs": "Organisations: what their people have, others do not see.",
    "users": "People, their roles, and how they log in.",
    "tokens": "Bearer tokens of programs and browsers.",
    "credentials": "Keys of model providers, kept encrypted.",
    "machines": "Where sessions run: execution planes, devices, Yeaft agents.",
    "agents": "Prompts, models and tools under a name.",
    "models": "The models that sessions can use here.",
    "groups": "Persons, and groups of them that answer together.",
    "sessions": "Conversations: messages, their log, what was done in them.",
    "retention": "How long and how much of sessions' logs is kept.",
    "streams": "One stream of server-sent events for everything that a user may see.",
    "debug": "A session's events in the form of every protocol.",
    "approvals": "Questions of agents to people.",
    "rules": "What is allowed, asked about and refused without a question.",
    "push": "Notifications to browsers.",
    "uploads": "Files for the next message.",
    "skills": "Guides and files that agents learn from.",
    "evolutions": "What agents propose to change in skills.",
    "memories": "What is remembered beyond a session.",
    "mcp-servers": "Servers of tools that sessions connect to.",
    "lookup": "Records by their name, or the beginning of an id.",
    "usage": "Tokens and money.",
    "quotas": "How much a user may have, and has.",
    "audit": "Who did what, in a chain that cannot be changed unseen.",
    "server": "The state of this server, and its first steps.",
    "yeaft": "What Yeaft's own page asks for over HTTP.",
    "operator": "For whoever runs the server, and for browsers.",
}


def describe(routes: Sequence[Route]) -> Json:
    """The whole document."""
    kinds = _kinds(routes)
    refs, schemas = msgspec.json.schema_components(kinds, ref_template=_REF)
    ref_of = {id(kind): ref for kind, ref in zip(kinds, refs, strict=True)}
    _require_what_is_always_there(routes, schemas)
    schemas[event_schema.NAME] = event_schema.union([ref_of[id(event)] for event in EVENTS])
    for stream in (route.stream for route in routes if route.stream is not None):
        schemas[stream.frame] = _frame(stream, ref_of)
    paths: dict[str, Json] = {}
    for route in routes:
        operation = _operation(route, ref_of, schemas)
        paths.setdefault(route.shown_path, {})[route.method.lower()] = operation
    for route in routes:
        # Query structs are documented as parameters, not as schemas of their own.
        if route.query is not None:
            schemas.pop(route.query.__name__, None)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Trunkline",
            "version": __version__,
            "description": "The control plane's records, sessions and approvals.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}, {"cookie": []}],
        "tags": [
            {"name": tag, "description": _TAGS.get(tag, tag)}
            for tag in dict.fromkeys(route.tag for route in routes)
        ],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {
                "Error": _error(
                    ref_of[id(ErrorAnswer)],
                    "An error; `code` says which, `message` says it to people.",
                ),
                "PlainError": _error(ref_of[id(PlainError)], "An error, said to people."),
            },
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": SECURE},
            },
        },
    }


def _kinds(routes: Sequence[Route]) -> list[Any]:
    return [*_taken(routes), *_returned(routes), *EVENTS]


def _taken(routes: Sequence[Route]) -> list[Any]:
    wanted = [kind for route in routes for kind in (route.query, route.body)]
    return [kind for kind in wanted if kind is not None]


def _returned(routes: Sequence[Route]) -> list[Any]:
    kinds: list[Any] = [ErrorAnswer, PlainError]
    for route in routes:
        if _returns_json(route):
            kinds.append(route.returns)
        if route.stream is not None:
            kinds.extend(route.stream.data.values())
    return kinds


def _require_what_is_always_there(routes: Sequence[Route], schemas: dict[str, Json]) -> None:
    """A field with a default may be left out of what is sent here; in what is sent from here it
    stands, and a typed client need not ask. Fields that are really left out have no default."""
    taken = msgspec.json.schema_components(_taken(routes), ref_template=_REF)[1]
    for name in msgspec.json.schema_components(_returned(routes), ref_template=_REF)[1]:
        schema = schemas[name]
        if name in taken or "properties" not in schema:
            continue
        required = schema.get("required", [])
        schema["required"] = [
            field
            for field, value in schema["properties"].items()
            if field in required or "default" in value
        ]
        for value in schema["properties"].values():
            value.pop("default", None)


def _frame(stream: Stream, ref_of: dict[int, Json]) -> Json:
    frames = []
    for name, kind in stream.data.items():
        own: Json = {"event": {"const": name}} if name else {"id": {"type": "string"}}
        properties = {**own, "data": ref_of[id(kind)]}
        frames.append({"type": "object", "properties": properties, "required": list(properties)})
    about = "One event of the stream; its `data` is one line of JSON."
    return {"description": about, "oneOf": frames}


def _returns_json(route: Route) -> bool:
    kind = route.returns
    is_response = isinstance(kind, type) and issubclass(kind, web.StreamResponse)
    return kind is not type(None) and not is_response


def _operation(route: Route, ref_of: dict[int, Json], schemas: dict[str, Json]) -> Json:
    operation: Json = {
        "operationId": route.handler.__name__,
        "tags": [route.tag],
        "summary": route.summary,
        "responses": _responses(route, ref_of),
    }
    if route.description:
        operation["description"] = route.description
    if parameters := _parameters(route, schemas):
        operation["parameters"] = parameters
    if route.body is not None:
        operation["requestBody"] = {
            "required": route.default_body is None,
            "content": {"application/json": {"schema": ref_of[id(route.body)]}},
        }
    if "upload" in route.takes:
        operation["requestBody"] = _upload()
    if "files" in route.takes:
        operation["requestBody"] = _files()
    if "chunks" in route.takes:
        lines = {"application/x-ndjson": {"schema": {"type": "string", "format": "binary"}}}
        operation["requestBody"] = {"required": True, "content": lines}
    wanted = [route.scope]
    operation["security"] = [] if route.is_open else [{"bearer": wanted}, {"cookie": wanted}]
    return operation


def _parameters(route: Route, schemas: dict[str, Json]) -> list[Json]:
    parameters: list[Json] = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string"},
            "description": _of_path(name),
        }
        for name in route.path_params
    ]
    if route.query is None:
        return parameters
    schema = schemas[route.query.__name__]
    for name, given in schema["properties"].items():
        value = dict(given)
        parameter = {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", ()),
            "schema": _without_null(value),
        }
        if description := _description(value):
            parameter["description"] = description
        parameters.append(parameter)
    return parameters


def _of_path(name: str) -> str:
    thing = name.removesuffix("_id").replace("_", " ")
    return f"The id of the {thing}." if name.endswith("_id") else f"The {thing}."


def _without_null(schema: Json) -> Json:
    """A query string has no null: an optional parameter is one that may be left out."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if schema.get("default", ...) is None:
        schema.pop("default")
    if len(choices) == 1:
        rest = {key: value for key, value in schema.items() if key != "anyOf"}
        return {**choices[0], **rest}
    return schema


def _description(schema: Json) -> str:
    for part in (schema, *schema.get("anyOf", ())):
        if "description" in part:
            return str(part["description"])
    return ""


def _responses(route: Route, ref_of: dict[int, Json]) -> Json:
    good: Json = {"description": _REASONS.get(route.status, "Done")}
    if _returns_json(route):
        good["content"] = {"application/json": {"schema": ref_of[id(route.returns)]}}
    elif route.stream is not None:
        frame = {"$ref": _REF.format(name=route.stream.frame)}
        good["content"] = {route.media: {"schema": frame}}
    elif route.returns is not type(None) and route.status < 300 and route.status != 204:
        good["content"] = _text(route.media)
    failures = {
        "400": route.is_ours or bool(route.query or route.body or route.path_params),
        "401": not route.is_open,
        "403": True,
        "404": bool(route.path_params),
        "413": route.body is not None or bool(route.takes & {"upload", "files", "chunks"}),
        "default": True,
    }
    responses = {str(route.status): good}
    error = _PLAIN_REF if route.of_yeaft else _ERROR_REF
    responses |= {status: error for status, happens in failures.items() if happens}
    if route.refusal:
        page = {"description": "A page says why", "content": _text(route.refusal)}
        responses |= {"401": page, "429": page}
    return responses


def _text(media: str) -> Json:
    return {kind.strip(): {"schema": {"type": "string"}} for kind in media.split(",")}


def _upload() -> Json:
    form = {
        "type": "object",
        "properties": {"file": {"type": "string", "contentMediaType": "application/zip"}},
        "required": ["file"],
    }
    return {
        "required": True,
        "content": {
            "application/zip": {"schema": {"type": "string", "format": "binary"}},
            "multipart/form-data": {"schema": form},
        },
    }


def _files() -> Json:
    file = {"type": "string", "format": "binary"}
    form = {"type": "object", "properties": {"files": {"type": "array", "items": file}}}
    return {"required": True, "content": {"multipart/form-data": {"schema": form}}}


def _error(ref: Json, description: str) -> Json:
    return {
        "description": description,
        "content": {"application/json": {"schema": ref}},
    }
