"""What a Yeaft web client may list: agents, conversations, history, folders (CONTRACT §4, 002).

Agents are machines of every kind. History and folders of a Yeaft agent are its own business and
asked from it; for all other machines the records answer, and the machine says what other programs
have there.
"""

from functools import partial
from typing import Any

from trunkline import limits
from trunkline.control.edges.yeaft_web import catalog, foreign
from trunkline.control.edges.yeaft_web.visit import WIRE, Visit
from trunkline.control.machines.machine import Machine
from trunkline.control.records.machines import MachineRecord
from trunkline.control.records.page import Paging
from trunkline.control.sessions.records import Session
from trunkline.wire.yeaft.outward_frames import envelope
from trunkline.wire.yeaft.providers import name_of, shown_to_pages
from trunkline.wire.yeaft.web import Request

Json = dict[str, Any]

_ALL = Paging(limit=limits.PAGE_MAX)
"""As many as a list has at once: these clients turn no pages."""


def state_of(machine: Machine | None) -> str:
    """`idle`, `busy` or `offline` (docs/protocols/yeaft.md#heartbeats-and-buffers)."""
    if machine is None or machine.line is None:
        return "offline"
    said = machine.health.get("state")
    if said in ("idle", "busy"):
        return str(said)
    return "busy" if any(machine.core.is_busy(one) for one in machine.logs) else "idle"


async def list_agents(visit: Visit, request: Request | None = None) -> None:
    """The machines of this person, in the words of the client's dialect."""
    core = visit.core
    page = await core.records.machines.page(visit.who, _ALL)
    known = {} if request is None else request.correlation
    if not visit.reader.deployed:
        agents = [_agent(visit, one, []) for one in page.items]
        visit.send(envelope("agents_list", agents=agents, **known))
        return
    found = await _conversations(visit, None)  # deployed clients forget what is not in here
    conversations: dict[str, list[Json]] = {}
    for one in found:
        conversations.setdefault(one["agentId"], []).append(one)
    agents = [_agent(visit, one, conversations.get(one.id, [])) for one in page.items]
    visit.send(envelope("agent_list", agents=agents, **known))
    await catalog.send_catalog(visit, found, {one.id: one.name for one in page.items})


async def get_agents(visit: Visit, request: Request) -> None:
    """The lists with which a deployed page begins, and begins again when it was away."""
    page = await visit.core.records.machines.page(visit.who, _ALL)
    online = [one.id for one in page.items if visit.core.machines.is_online(one.id)]
    await catalog.send_inventory(visit, request, online)
    await list_agents(visit, request)
    catalog.end_inventory(visit, request)


def _agent(visit: Visit, record: MachineRecord, conversations: list[Json]) -> Json:
    machine = visit.core.machines.find(record.id)
    online = machine is not None and machine.line is not None
    work_dir = None if machine is None else machine.health.get("workDir")
    shown: Json = {
        "id": record.id,
        "name": record.name,
        "kind": record.kind,
        "online": online,
        "status": "ready" if online else "offline",
        "state": state_of(machine),
        "capabilities": record.capabilities,
        "workDir": work_dir if isinstance(work_dir, str) else "",
    }
    if visit.reader.deployed:
        shown |= {"conversations": conversations, "proxyPorts": [], **_slash_commands(machine)}
    return shown


def _slash_commands(machine: Machine | None) -> Json:
    """What its agent takes behind a slash, as it has said last."""
    said = {} if machine is None else machine.health
    names, about = said.get("slashCommands"), said.get("slashCommandDescriptions")
    return {
        "slashCommands": names if isinstance(names, list) else [],
        "slashCommandDescriptions": about if isinstance(about, dict) else {},
    }


async def select_agent(visit: Visit, request: Request) -> None:
    machine = await visit.machine(request.need("agentId"))
    visit.agent_id = machine.id
    if request.fields.get("silent") is True:
        return
    visit.conversation_id = None
    record = await visit.core.records.machines.get(visit.who, machine.id)
    shown = _agent(visit, record, await _conversations(visit, machine.id))
    fields = {name: shown[name] for name in ("workDir", "capabilities", "conversations")}
    visit.tell(
        "agent_selected",
        request,
        agentId=machine.id,
        agentName=record.name,
        **_slash_commands(machine),
        **fields,
    )


async def list_conversations(visit: Visit, request: Request) -> None:
    """The newest ones, of one agent if it is named."""
    agent_id = request.get("agentId")
    if agent_id is not None:
        agent_id = (await visit.machine(agent_id)).id
    elif request.type == "get_conversations":
        agent_id = visit.agent_id
    found = await _conversations(visit, agent_id)
    visit.tell("conversation_list", request, agentId=agent_id, conversations=found)


async def _conversations(visit: Visit, agent_id: str | None) -> list[Json]:
    """Those that people talk in: a person's part in a group is shown in the group's own."""
    found = await visit.core.session_list.made(visit.who, status="active", machine_id=agent_id)
    return [conversation(visit, one) for one in found]


def conversation(visit: Visit, session: Session) -> Json:
    """A conversation as it stands in lists."""
    machine = visit.core.machines.find(session.machine_id or "")
    chosen = chosen_in(session)
    provider = chosen.get("provider")
    return {
        "id": session.id,
        "conversationId": session.id,
        "sessionId": session.id,
        "agentId": session.machine_id,
        "title": session.title or "",
        "status": session.status,
        "provider": shown_to_pages(provider) if visit.reader.deployed else provider,
        "workDir": chosen.get("workDir") or "",
        "createdAt": session.created_at,
        "updatedAt": session.updated_at,
        "lastEventId": session.last_event_id,
        "processing": machine is not None and machine.core.is_busy(session.id),
        "type": "chat",
    }


def chosen_in(session: Session) -> Json:
    """What its creator chose, in Yeaft's words; other clients choose a runtime and a workspace."""
    config, of_agent = session.session_config, session.agent_config
    folders = [config.get(one) for one in ("workDir", "work_dir", "workspace")]
    found = {
        "provider": config.get("provider") or name_of(session.runtime_type, of_agent),
        "workDir": next(filter(None, folders), None) or of_agent.get("workspace"),
    }
    return {name: value for name, value in found.items() if value}


async def list_history_sessions(visit: Visit, request: Request) -> None:
    found = await _recorded(visit, request)
    if found is not None:
        tell = partial(_tell_history, visit, request, found)
        await visit.beside(request, foreign.listed(visit, request), tell)


async def _tell_history(
    visit: Visit, request: Request, found: list[Session], others: list[foreign.OnMachine]
) -> None:
    sessions = [
        {
            "sessionId": one.id,
            "conversationId": one.id,
            "agentId": one.machine_id,
            "title": one.title or "",
            "workDir": chosen_in(one).get("workDir") or "",
            "provider": chosen_in(one).get("provider"),
            "lastModified": one.updated_at,
        }
        for one in found
    ]
    sessions += [foreign.entry(one, machine_id) for machine_id, one in others]
    visit.tell("history_sessions_list", request, sessions=sessions, **_asked_for(request))


async def list_folders(visit: Visit, request: Request) -> None:
    found = await _recorded(visit, request)
    if found is not None:
        tell = partial(_tell_folders, visit, request, found)
        await visit.beside(request, foreign.listed(visit, request), tell)


async def _tell_folders(
    visit: Visit, request: Request, found: list[Session], others: list[foreign.OnMachine]
) -> None:
    folders: dict[str, Json] = {}
    used = [(chosen_in(one).get("workDir"), one.updated_at) for one in found]
    used += [(one.folder, one.updated_at) for _, one in others]
    for path, updated_at in used:
        if not isinstance(path, str) or not path:
            continue
        folder = folders.setdefault(
            path, {"name": path, "path": path, "sessionCount": 0, "lastModified": updated_at}
        )
        folder["sessionCount"] += 1
        folder["lastModified"] = max(folder["lastModified"], updated_at)
    visit.tell("folders_list", request, folders=list(folders.values()), **_asked_for(request))


async def _recorded(visit: Visit, request: Request) -> list[Session] | None:
    """Sessions of the records that fit what was asked for; what it does not name fits. None: a
    Yeaft agent knows its own, and was asked."""
    machine, _ = await visit.target_of(request)
    if machine is not None and machine.kind == WIRE:
        visit.forward(machine, request)
        return None
    wanted = _asked_for(request)
    machine_id = None if machine is None else machine.id
    return [
        one
        for one in await visit.core.session_list.made(visit.who, machine_id=machine_id)
        if all(value is None or chosen_in(one).get(name) == value for name, value in wanted.items())
    ]


def _asked_for(request: Request) -> Json:
    return {name: request.get(name) for name in ("provider", "workDir")}
