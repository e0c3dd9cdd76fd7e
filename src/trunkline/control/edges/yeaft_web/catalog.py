"""The list of conversations as deployed pages keep it, and what their owners change in it."""

from typing import Any

from trunkline import limits
from trunkline.control.edges.yeaft_web.visit import WIRE, Visit
from trunkline.control.errors import InvalidRequest, NotFound
from trunkline.control.ids import is_id
from trunkline.control.sessions.records import Session
from trunkline.wire.yeaft import catalog
from trunkline.wire.yeaft.outward_frames import encode
from trunkline.wire.yeaft.web import Request

Json = dict[str, Any]

_FILES_MAX = 100
_RANK_MAX = 2**53


async def send_catalog(visit: Visit, conversations: list[Json], names: dict[str, str]) -> None:
    """Follows every list of agents. `names`: of the machines, by id."""
    kept = await visit.core.shown.of(one["id"] for one in conversations)
    rows = [_row(visit, one, names, kept.get(one["id"], {})) for one in conversations]
    # The newest first, behind those that were put into an order.
    rows.sort(key=lambda row: (row["sortRank"] is None, row["sortRank"] or 0))
    visit.tell(
        "session_catalog_snapshot",
        catalog=[row for row in rows if not row["hidden"]],
        hiddenCatalog=[row for row in rows if row["hidden"]],
        projects=[],
        projectsAuthoritative=True,
    )


def _row(visit: Visit, conversation: Json, names: dict[str, str], shown: Json) -> Json:
    agent_id = conversation["agentId"] or ""
    machine = visit.core.machines.find(agent_id)
    online = machine is not None and machine.line is not None
    return catalog.row(conversation, names.get(agent_id, ""), online=online, shown=shown)


async def send_inventory(visit: Visit, request: Request, agent_ids: list[str]) -> None:
    """The group chats that agents run themselves, agent by agent: what each has said of them."""
    known = request.correlation
    for agent_id, sessions in (await visit.group_chats(agent_ids)).items():
        fields = {"agentId": agent_id, "sessions": sessions, "fromDb": True}
        visit.tell("yeaft_session_hydrate", **fields, **known)
    if not agent_ids:  # the page waits for one all the same
        empty: Json = {"type": "yeaft_session_hydrate", "agentId": None, "sessions": []}
        visit.send(encode({**empty, "fromDb": True, **known}))


def end_inventory(visit: Visit, request: Request) -> None:
    visit.tell("yeaft_session_hydrate_complete", request, ok=True)


async def pin(visit: Visit, request: Request) -> None:
    """`pin_session` and `unpin_session`."""
    visit.who.require("talk")
    session = await visit.session_of(request)
    pinned = request.type == "pin_session"
    await visit.core.shown.change(session.id, pinned=pinned)
    visit.tell("session_pinned", request, conversationId=session.id, pinned=pinned)
    visit.catalog_changed()


async def set_metadata(visit: Visit, request: Request) -> None:
    """`set_session_ui_metadata`; what it does not name stays."""
    visit.who.require("talk")
    named = {name: request.fields.get(name) for name in ("catalogKey", "routeRef")}
    try:
        session = await _named(visit, request.fields)
        kept = await visit.core.shown.change(session.id, **_wanted(request))
    except (NotFound, InvalidRequest) as error:
        if isinstance(error, NotFound):
            visit.core.refusals.note(visit.who, WIRE, error)
        fields = {**named, "ok": False, "error": error.message}
        visit.tell("session_ui_metadata_updated", request, **fields)
        return
    shown = {"pinned": kept.get("pinned") is True, "hidden": kept.get("hidden") is True}
    fields = {**named, "ok": True, **shown, "sortRank": kept.get("sort_rank")}
    visit.tell("session_ui_metadata_updated", request, **fields)
    visit.catalog_changed()


def _wanted(request: Request) -> Json:
    given, wanted = request.fields, {}
    for name in ("pinned", "hidden"):
        if isinstance(given.get(name), bool):
            wanted[name] = given[name]
    rank = given.get("sortRank")
    if isinstance(rank, int | float) and not isinstance(rank, bool) and abs(rank) < _RANK_MAX:
        wanted["sort_rank"] = rank
    if not wanted:
        raise InvalidRequest("nothing to change")
    return wanted


async def _named(visit: Visit, row: Json) -> Session:
    """The conversation that a row is of. One of an agent's own is for that agent to keep."""
    session_id = catalog.session_of(row.get("catalogKey"))
    if session_id is None or not is_id(session_id):
        raise InvalidRequest("this row is an agent's own, and nothing of it is kept here")
    return await visit.core.sessions.get(visit.who, session_id)


async def reorder(visit: Visit, request: Request) -> None:
    """`reorder_session_catalog`: all rows, in their new order."""
    visit.who.require("talk")
    rows = request.fields.get("sessions")
    fields: Json = {"ok": True}
    try:
        if not isinstance(rows, list) or len(rows) > 2 * limits.PAGE_MAX:
            raise InvalidRequest("sessions must be the list of all rows")
        ours = [row for row in rows if isinstance(row, dict) and _is_ours(row)]
        sessions = [await _named(visit, row) for row in ours]
        await visit.core.shown.order([one.id for one in sessions])
    except (NotFound, InvalidRequest) as error:
        if isinstance(error, NotFound):
            visit.core.refusals.note(visit.who, WIRE, error)
        fields = {"ok": False, "error": error.message}
    visit.tell("session_catalog_reorder_result", request, **fields)
    if fields["ok"]:
        visit.catalog_changed()


def _is_ours(row: Json) -> bool:
    return catalog.session_of(row.get("catalogKey")) is not None


async def update_files(visit: Visit, request: Request) -> None:
    """`update_file_tabs`: which files are open beside a conversation. It wants no answer."""
    visit.who.require("talk")
    session = await _beside(visit, request)
    opened = request.fields.get("openFiles")
    if session is None or not isinstance(opened, list):
        return
    paths = [one.get("path") for one in opened[:_FILES_MAX] if isinstance(one, dict)]
    kept = [one for one in paths if isinstance(one, str) and "\x00" not in one]
    active = request.count("activeIndex", 0, _FILES_MAX)
    await visit.core.shown.change(session.id, files=kept, active_file=active)


async def restore_files(visit: Visit, request: Request) -> None:
    """`restore_file_tabs`; its answer repeats by what the page knows where it belongs."""
    session = await _beside(visit, request)
    kept = {} if session is None else (await visit.core.shown.of([session.id])).get(session.id, {})
    echoed = ("conversationId", "workbenchRouteKey", "workbenchWorkspaceGeneration")
    fields = {name: request.fields.get(name) for name in (*echoed, "restoreRequestId")}
    visit.tell(
        "file_tabs_restored",
        request,
        agentId=request.get("agentId") or visit.agent_id,
        openFiles=[{"path": path} for path in kept.get("files", [])],
        activeIndex=kept.get("active_file", 0),
        **fields,
    )


async def _beside(visit: Visit, request: Request) -> Session | None:
    """The conversation beside which the workbench is open, if it is one of ours."""
    route = request.fields.get("workbenchRoute")
    named = route.get("sessionId") if isinstance(route, dict) else request.get("conversationId")
    session_id = named if isinstance(named, str) and is_id(named) else visit.conversation_id
    if session_id is None or (isinstance(route, dict) and session_id != named):
        return None
    return await visit.core.sessions.get(visit.who, session_id)
