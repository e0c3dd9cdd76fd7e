"""Every route under `/api/v1`, one module a subject. A module's `routes` is what it serves."""

from trunkline.control.api.framework import Route
from trunkline.control.api.routes import (
    agents,
    approvals,
    audit,
    credentials,
    devices,
    evolutions,
    groups,
    machines,
    mcp_servers,
    me,
    memories,
    orgs,
    persons,
    sessions,
    skills,
    tokens,
    usage,
    users,
)

_MODULES = (
    me,
    orgs,
    users,
    tokens,
    credentials,
    devices,
    agents,
    machines,
    persons,
    groups,
    sessions,
    approvals,
    skills,
    evolutions,
    memories,
    mcp_servers,
    usage,
    audit,
)

ALL: list[Route] = [route for module in _MODULES for route in module.routes.items]
