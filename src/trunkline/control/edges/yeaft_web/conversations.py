"""A conversation's life on a Yeaft web client: create, resume, select, sync, delete."""

import math
from functools import partial
from typing import Any

from trunkline import limits
from trunkline.control.backup.restored import RESTORE_GAP
from trunkline.control.edges.yeaft_web import foreign
from trunkline.control.edges.yeaft_web.lists import chosen_in
from trunkline.control.edges.yeaft_web.visit import WIRE, Visit, pass_on
from trunkline.control.errors import InvalidRequest, NotFound
from trunkline.control.ids import is_id
from trunkline.control.log.session_log import SessionLog
from trunkline.control.machines.machine import Machine
from trunkline.control.sessions.records import NewSession, Session
from trunkline.wire.yeaft.catalog import key_of
from trunkline.wire.yeaft.history import History
from trunkline.wire.yeaft.outward import from_events
from trunkline.wire.yeaft.outward_frames import encode, session_ready
from trunkline.wire.yeaft.outward_state import Outward
from trunkline.wire.yeaft.providers import Choice, choice_of
from trunkline.wire.yeaft.web import Request

_HISTORY_BYTES_MAX = 2 * limits.MIB
_CLOCKS_DIFFER_MS_MAX = 60_000  # what a page says of its own time is believed as far as this
_HISTORY_EVENTS = 2_000  # the newest that a web client is shown when it comes back

_NO_NOTES = 2**62  # behind every note: events alone

Json = dict[str, Any]

_OWN = ("session_id", "model_info", "capabilities")
"""What only a session's runtime knows."""

CHOSEN = ("provider", "workDir", "options", "providerOptions", "disallowedTools")
"""What the document lets a client choose, under the names of either dialect."""


async def create(visit: Visit, request: Request) -> None:
    """Pins a new conversation to the agent that it names, or to one that is online."""
    agent_id = request.get("agentId") or visit.agent_id
    chosen = visit.own_fields(request, "title")
    if agent_id is None:
        machine = await _with_provider(visit, chosen)
    else:
        machine = await visit.machine(agent_id)
    session = await _create(visit, request, machine, chosen)
    await _opened(visit, request, session)


async def _create(visit: Visit, request: Request, machine: Machine | None, chosen: Json) -> Session:
    choice = None if machine is None else _choice(machine, chosen)
    config = {**_model(chosen), **({} if choice is None else choice.agent_config)}
    new = NewSession(
        machine_id=None if machine is None else machine.id,
        title=_title(request),
        runtime_type=None if choice is None else choice.runtime_type,
        agent_config=config or None,
        session_config=_session_config(chosen, choice),
    )
    return await visit.core.sessions.create(visit.who, new)


def _title(request: Request) -> str | None:
    title = request.get("title")
    if title is not None and len(title) > limits.NAME_CHARS_MAX:
        raise InvalidRequest(f"a title may have {limits.NAME_CHARS_MAX} characters")
    return title


def _session_config(chosen: Json, choice: Choice | None) -> Json | None:
    """What every machine may read stands by its own name, the rest is for Yeaft agents. The folder
    of a runtime that was chosen is its workspace: each machine knows which it allows. Pages name
    some folder in any case, as they name some provider."""
    config = {name: chosen[name] for name in CHOSEN if chosen.get(name) is not None}
    folder = chosen.get("workDir")
    if choice is not None and isinstance(folder, str) and folder:
        config["workspace"] = folder
    rest = {name: value for name, value in chosen.items() if name not in CHOSEN}
    return {**config, **({WIRE: rest} if rest else {})} or None


def _choice(machine: Machine, chosen: Json) -> Choice | None:
    """A provider that the machine has as a runtime; any other is for Yeaft agents to know."""
    told = machine.health
    return choice_of(chosen.get("provider"), told.get("runtimes"), told.get("runtime_details"))


async def _with_provider(visit: Visit, chosen: Json) -> Machine | None:
    """Where no agent is named: of this person's machines that run what was chosen, their default,
    else the newest."""
    default = await visit.core.sessions.choice.default_of(visit.who.user_id)
    online = [one for one in visit.core.machines.online() if one.user_id == visit.who.user_id]
    online.sort(key=lambda one: (not one.is_draining, one.id == default, one.id), reverse=True)
    return next((one for one in online if _choice(one, chosen) is not None), None)


def _model(chosen: Json) -> Json:
    for options in (chosen.get("options"), chosen.get("providerOptions")):
        if isinstance(options, dict) and isinstance(options.get("model"), str):
            return {"model": options["model"]}
    return {}


async def _opened(visit: Visit, request: Request, session: Session) -> None:
    """A Yeaft agent says itself when a session is ready; for every other machine we do."""
    visit.conversation_id = session.id
    pinned = {"conversationId": session.id, "agentId": session.machine_id}
    client_id = request.get("conversationId")
    visit.tell("conversation_pinned", request, **pinned, clientConversationId=client_id)
    machine = await visit.machine_of(session)
    if machine is None or machine.kind != WIRE:
        visit.send(_ready(visit, session, machine, **request.correlation))
    await visit.follow(session, 0)
    if visit.reader.deployed:
        visit.catalog_changed()


def _ready(
    visit: Visit,
    session: Session,
    machine: Machine | None,
    told: Json | None = None,
    **more: Any,
) -> bytes:
    """`told`: what the session's runtime has said of it."""
    chosen = chosen_in(session)
    line = None if machine is None else machine.line
    ready: Json = {
        "capabilities": [] if line is None else sorted(line.capabilities),
        "provider": chosen.get("provider"),
        "work_dir": chosen.get("workDir"),
    }
    if session.agent_config.get("model"):
        ready["model_info"] = {"model": session.agent_config["model"]}
    ready |= {name: told[name] for name in _OWN if told and told.get(name)}
    deployed = visit.reader.deployed
    return session_ready(session.id, session.machine_id, ready, deployed=deployed, **more)


async def resume(visit: Visit, request: Request) -> None:
    """A session that was there before. With `lastEventId`, what came after it; without, its
    history. Live goes on right behind either."""
    session = await _known(visit, request)
    if session is None:
        named = await visit.machine(request.need("agentId"))
        if named.kind == WIRE:
            await _adopt(visit, request, named)
            return
        adopting = foreign.adopt(visit, request, named)
        await visit.beside(request, adopting, partial(_taken_up, visit, request))
        return
    await _go_on(visit, request, session)


async def _taken_up(visit: Visit, request: Request, session: Session) -> None:
    pinned = {"conversationId": session.id, "agentId": session.machine_id}
    client_id = request.get("conversationId")
    visit.tell("conversation_pinned", request, **pinned, clientConversationId=client_id)
    await _go_on(visit, request, session)


async def _go_on(visit: Visit, request: Request, session: Session) -> None:
    visit.conversation_id = session.id
    visit.reader.leave(session.id)  # else what is shown now would be shown twice
    log = await visit.core.sessions.readable(visit.who, session.id)
    machine = await visit.machine_of(session)
    position = request.position("lastEventId")
    more: Json = {"isProcessing": await visit.is_busy(session)}
    if position is not None and await visit.core.log.holds(log, position):
        visit.reader.wants_positions = True
        visit.send(_ready(visit, session, machine, lastEventId=position, **more))
    else:
        position = log.last_id
        history = await _history(visit, log, machine, position)
        more |= {"history": history.messages(), "hasMore": history.is_cut}
        if visit.reader.deployed:
            more |= {"dbMessages": history.rows(), "hasMoreMessages": history.is_cut}
        more |= {"lastEventId": position, **request.correlation}
        visit.send(_ready(visit, session, machine, history.ready, **more))
        _complete(visit, history)
        await _ask_again(visit, session, machine)
    await visit.follow(session, position)


async def _known(visit: Visit, request: Request) -> Session | None:
    """The session that is meant: by our id under any of its names; None for one that only its
    machine knows."""
    names = [request.get("conversationId"), request.get("sessionId", "claudeSessionId")]
    ids = [name for name in names if name is not None and is_id(name)]
    refused: NotFound | None = None
    for session_id in ids:
        try:
            return await visit.core.sessions.get(visit.who, session_id)
        except NotFound as error:
            refused = refused or error
    if request.get("sessionId", "claudeSessionId") is not None and request.get("agentId"):
        return None
    if refused is not None:
        visit.core.refusals.note(visit.who, WIRE, refused)
    raise refused or NotFound("session", names[0] or names[1] or "")


async def _adopt(visit: Visit, request: Request, machine: Machine) -> None:
    """A session from a Yeaft agent's own history becomes one of ours."""
    remote = request.need("sessionId", "claudeSessionId")
    chosen = visit.own_fields(request, "sessionId", "claudeSessionId", "lastEventId")
    session = await _create(visit, request, machine, {**chosen, "resume": {"sessionId": remote}})
    await _opened(visit, request, session)


async def _history(
    visit: Visit,
    log: SessionLog,
    machine: Machine | None,
    last: int,
    after_row: float | None = None,
    before_row: float | None = None,
) -> History:
    """The messages of the newest events up to `last`; between those rows, if they are given."""
    after = await visit.core.log.place_before(log, _HISTORY_EVENTS, last)
    if after_row is not None:
        after = max(after, int(after_row) - 1)  # that row's event may have more of them
    history = History(
        log.session_id,
        _HISTORY_BYTES_MAX,
        relays=machine is not None and machine.kind == WIRE,
        after=after_row,
        before=before_row,
    )
    history.is_cut = after >= log.first_id
    async for page in visit.core.log.entries(log.session_id, after, _NO_NOTES):
        for one in page:
            if one.event_id <= last:
                history.add(one.event_id, one.text, one.at)
        if page[-1].event_id >= last:
            break
    return history


def _complete(visit: Visit, history: History) -> None:
    """What a page completes behind a slash, which it was told when nobody looked."""
    if history.commands:
        visit.send(history.commands)


async def _ask_again(visit: Visit, session: Session, machine: Machine | None) -> None:
    """What waits for a person is no history yet."""
    state = Outward(
        session.id,
        agent_id=session.machine_id,
        deployed=visit.reader.deployed,
        relays=machine is not None and machine.kind == WIRE,
        is_repeating=True,
    )
    pending = await visit.core.approvals.page(visit.who, session_id=session.id)
    for approval in pending:
        line = encode(approval.request).decode()
        visit.send(*(out.body for out in from_events(state, session.last_event_id, line)))


async def select(visit: Visit, request: Request) -> None:
    session = await visit.session_of(request)
    visit.conversation_id = session.id
    await visit.follow(session)
    visit.tell("conversation_selected", request, conversationId=session.id)
    await _ask_again(visit, session, await visit.machine_of(session))


async def sync_messages(visit: Visit, request: Request) -> None:
    """A page of history as deployed clients keep it: the newest, those before an id, or after."""
    session = await visit.session_of(request)
    await visit.follow(session)
    log = await visit.core.sessions.readable(visit.who, session.id)
    before, after = request.row("beforeId"), request.row("afterMessageId")
    last = log.last_id if not before else min(math.ceil(before) - 1, log.last_id)
    if after is not None:
        after = after if after < log.last_id + 1 else log.last_id
        # Of what is no longer kept, or never was, nothing follows: it is shown the newest.
        after = after if await visit.core.log.holds(log, int(after)) else None
    if after is not None:
        after = max(after, await visit.core.log.place_before(log, _HISTORY_EVENTS, last))
    machine = await visit.machine_of(session)
    history = await _history(visit, log, machine, last, after, before or None)
    seen_ms = request.seen_ms("afterMessageId")
    if seen_ms is not None and seen_ms < visit.core.clock() + _CLOCKS_DIFFER_MS_MAX:
        history.keep_since(seen_ms)
    if request.fields.get("turns") is not None:
        history.keep_turns(request.count("turns", 5, limits.PAGE_MAX))
    else:
        history.keep_rows(request.count("limit", 100, limits.EVENTS_PAGE_MAX))
    visit.tell(
        "sync_messages_result",
        request,
        conversationId=session.id,
        catalogKey=key_of(session.id),
        messages=history.rows(),
        hasMore=history.is_cut,
        total=(log.last_id - log.first_id + 1) % RESTORE_GAP,  # a restore leaves so many ids out
        lastEventId=last,
        mode="delta" if after is not None else "older" if before else "recent",
        afterMessageId=after,
    )
    if not before:
        _complete(visit, history)
        await _ask_again(visit, session, machine)


async def refresh(visit: Visit, request: Request) -> None:
    session = await visit.session_of(request)
    busy = await visit.is_busy(session)
    visit.tell("conversation_refresh", request, conversationId=session.id, isProcessing=busy)


async def ping_session(visit: Visit, request: Request) -> None:
    """Whether the session lives, without asking its machine, which may be of any kind."""
    session = await visit.session_of(request)
    machine = await visit.machine_of(session)
    status = "ok" if machine is not None and machine.line is not None else "agent-offline"
    if session.status != "active":
        status = "session-lost"
    busy = await visit.is_busy(session)
    fields = {"conversationId": session.id, "status": status, "isProcessing": busy}
    visit.tell("pong_session", request, **fields)


async def update_settings(visit: Visit, request: Request) -> None:
    """A title is ours; every other setting is its agent's."""
    session = await visit.session_of(request)
    title = _title(request)
    if "title" in request.fields:
        await visit.core.sessions.rename(visit.who, session.id, title)
    if request.rest("title"):
        await pass_on(visit, request)


async def delete(visit: Visit, request: Request) -> None:
    """Ends it on its machine; its history stays readable. Whoever follows it is told by its log."""
    session = await visit.session_of(request)
    if visit.conversation_id == session.id:
        visit.conversation_id = None
    if session.status == "closed":
        visit.tell("conversation_closed", request, conversationId=session.id)
        return
    await visit.follow(session)
    await visit.core.sessions.close(visit.who, session.id)
    visit.reader.finished(session.id)
    if visit.reader.deployed:
        fields = {"conversationId": session.id, "agentId": session.machine_id}
        visit.tell("conversation_delete_result", request, **fields, ok=True)
        visit.catalog_changed()
