"""Every route under `/api`, a module a subject, in the order in which they are documented."""

from trunkline.control.api.framework import Route
from trunkline.control.api.routes import (
    agents,
    audit,
    context,
    files,
    forks,
    groups,
    machines,
    people,
    rules,
    server,
    sessions,
    uploads,
    yeaft,
)

_SUBJECTS = (
    people.me,
    people.orgs,
    people.users,
    people.tokens,
    people.credentials,
    machines.devices,
    agents.agents,
    machines.machines,
    groups.persons,
    groups.groups,
    sessions.sessions,
    context.context,
    files.files,
    forks.forks,
    sessions.approvals,
    rules.rules,
    uploads.uploads,
    agents.skills,
    agents.evolutions,
    agents.memories,
    agents.mcp_servers,
    audit.usage,
    audit.audit,
    server.server,
    yeaft.routes,
)

ALL: list[Route] = [route for routes in _SUBJECTS for route in routes.items]
