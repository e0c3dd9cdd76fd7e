"""OpenAPI 3.1, generated from the typed routes. Nothing in it is written twice.

Serves `/openapi.json` and, through it, the page at `/docs`.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from aiohttp import web

from trunkline import __version__
from trunkline.control.access.cookies import SECURE
from trunkline.control.api.framework import Route
from trunkline.control.api.responses import ErrorAnswer, PlainError

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


def describe(routes: Sequence[Route]) -> Json:
    """The whole document."""
    kinds = _kinds(routes)
    refs, schemas = msgspec.json.schema_components(kinds, ref_template=_REF)
    ref_of = {id(kind): ref for kind, ref in zip(kinds, refs, strict=True)}
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
        "tags": [{"name": tag} for tag in dict.fromkeys(route.tag for route in routes)],
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
    kinds: list[Any] = [ErrorAnswer, PlainError]
    for route in routes:
        wanted = [route.query, route.body]
        if _returns_json(route):
            wanted.append(route.returns)
        kinds.extend(kind for kind in wanted if kind is not None)
    return kinds


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
    wanted = [route.scope]
    operation["security"] = [] if route.is_open else [{"bearer": wanted}, {"cookie": wanted}]
    return operation


def _parameters(route: Route, schemas: dict[str, Json]) -> list[Json]:
    parameters: list[Json] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
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
    elif route.returns is not type(None) and route.status < 300:
        good["content"] = _text(route.media)
    failures = {
        "400": route.is_ours or bool(route.query or route.body or route.path_params),
        "401": not route.is_open,
        "403": True,
        "404": bool(route.path_params),
        "413": route.body is not None or bool(route.takes & {"upload", "files"}),
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
