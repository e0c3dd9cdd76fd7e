"""The route that finds records by what people call them."""

from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.core import Core
from trunkline.control.errors import NotFound
from trunkline.control.records.lookup import FoundRecords, LookupQuery
from trunkline.control.records.lookup_sources import kind_of

lookup = Routes("lookup")


@lookup.get("/lookup/{kind}")
async def look_up(core: Core, who: Principal, kind: str, query: LookupQuery) -> FoundRecords:
    """Find records of a kind by an id, a name, or how either begins.

    `kind`: agents, machines, sessions, persons, groups, skills, mcp-servers, users, orgs, tokens,
    memories, rules, approvals or evolutions. Of ids, at least four characters; names in any case.
    Machines are also found by their guid, approvals that wait by the id of their request.
    """
    found = kind_of(kind)
    if found is None:
        raise NotFound("kind of records", kind)
    return await core.records.lookup.find(who, found, query)
