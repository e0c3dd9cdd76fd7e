"""What the commands behind a slash do."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline import names
from trunkline.cli.chat.entry import Entry
from trunkline.cli.chat.opening import made, taken_up
from trunkline.cli.chat.render.diff import coloured
from trunkline.cli.chat.slash_names import COMMANDS, command_of
from trunkline.cli.forks import forked
from trunkline.cli.human import money
from trunkline.cli.names import resolve
from trunkline.cli.output import CommandFailed, plain
from trunkline.client import ApiError

if TYPE_CHECKING:
    from trunkline.cli.chat.room import Room

Json = dict[str, Any]

_KEYS = """\
Enter sends; while it works, it reaches the model at its next step
Tab completes; while it works, it sends for when the turn has ended (as /queue)
Alt-Enter makes a new line; what is pasted is one message
Up and Down: what was typed before, also in earlier chats; Ctrl-R searches it
Ctrl-O unfolds the last tool call
Ctrl-C cancels the turn, then clears the line, then leaves; Ctrl-D leaves
a leading // or space says something that begins with a slash"""
_EXPORT_S = 600.0
_FILE_CHARS_MAX = 60  # of a title: in UTF-8 with room to spare in a name of 255 bytes
_ABOUT_COLUMNS = 40  # with less, what commands do stands right behind their names


async def taken(room: "Room", entry: Entry) -> Entry | None:
    """What is to be said to the session; None where it was a command for us."""
    text = entry.text.strip()
    if entry.text.startswith("//"):
        return entry._replace(text=text[1:])
    command = None if entry.text[:1].isspace() else command_of(text)
    if command is None or command[0] in room.desk.names.runtime.keys() - COMMANDS.keys():
        return entry._replace(text=text)
    name, given = command
    if name == "queue" and given:
        return Entry(given, is_later=True)
    if name not in COMMANDS:
        known = (*COMMANDS, *room.desk.names.runtime)
        room.note(names.unknown("command", name, known) + "; /help lists them, // sends it")
        room.screen.refused(entry.text)
        return None
    try:
        await _DO[name](room, given)
    except CommandFailed as error:
        room.note(f"error: {error}")
        room.screen.refused(entry.text)
    return None


async def _help(room: "Room", _: str) -> None:
    known = {f"/{name} {one.given}".rstrip(): one.about for name, one in COMMANDS.items()}
    known |= {f"/{plain(name)}": plain(about) for name, about in room.desk.names.runtime.items()}
    width = max(map(len, known))
    if room.screen.columns < width + _ABOUT_COLUMNS:
        room.note("\n".join(f"{name}: {about}" for name, about in known.items()))
    else:
        room.note("\n".join(f"{name:<{width}}  {about}" for name, about in known.items()))
    room.note(_KEYS)


async def _model(room: "Room", given: str) -> None:
    if given:
        await room.client.sessions.configure(room.conversation.session_id, model=given)
        room.facts.model = given
        room.note(f"the model is {given}, from the next turn on")
        return
    model = room.facts.model or "the one that the runtime takes by itself"
    room.note(f"the model is {model}; /model NAME takes another one (Tab lists those with prices)")


async def _agent(room: "Room", given: str) -> None:
    if not given:
        known = ", ".join(room.desk.names.arguments.get("agent", ())) or "none"
        is_one = f"the agent is {room.facts.agent}" if room.facts.agent else "it has no agent"
        room.note(f"{is_one}; there are: {known}")
        return
    record = room.opened.record
    chosen = {
        "agent_id": await resolve(room.client, "agents", given),
        "machine_id": record.get("machine_id"),
        "workspace": {**record["agent_config"], **record["session_config"]}.get("workspace"),
    }
    opened = await made(room.client, room.opened.folder, **chosen)
    opened.notices = [f"a new session with {given}"]
    await room.desk.enter(room.again(opened))


async def _machine(room: "Room", given: str) -> None:
    if not given:
        machines = [one async for one in room.client.each("machines")]
        lines = [f"{one['name'] or one['id']} ({one['state']})" for one in machines]
        room.note(f"it runs on {room.facts.machine or 'no machine'}; there are: {', '.join(lines)}")
        return
    machine_id = await resolve(room.client, "machines", given)
    moved = await room.client.patch(
        "sessions", room.conversation.session_id, body={"machine_id": machine_id}
    )
    room.opened.record = moved
    await room.facts.learn()
    room.note(f"it runs on {room.facts.machine} now")


async def _compact(room: "Room", _: str) -> None:
    await room.conversation.compact()


async def _fork(room: "Room", given: str) -> None:
    copy = await forked(room.client, room.conversation.session_id, given or None)
    await room.desk.enter(room.again(await taken_up(room.client, copy["id"])))


async def _diff(room: "Room", _: str) -> None:
    """What was done in its worktree; without one, what was seen of its files in this chat."""
    try:
        found = await room.client.get("sessions", room.conversation.session_id, "diff")
    except ApiError as error:
        if error.code != "NO_WORKTREE":
            raise
        if shown := room.transcript.diff():
            room.painted(shown)
        else:
            room.note("nothing has changed in this chat")
        return
    if not found["diff"].strip():
        room.note("nothing has changed")
        return
    cut = f"\n(cut here; all of it is in {found['folder']})" if found["truncated"] else ""
    room.painted(coloured(found["diff"].rstrip("\n") + cut, colours=room.desk.colours))


async def _files(room: "Room", _: str) -> None:
    found = (await room.client.get("sessions", room.conversation.session_id, "files"))["files"]
    room.desk.names.files = [one["path"] for one in found]
    lines = [f"{one['change']:<8}  {one['path']}" for one in found]
    room.note("\n".join(lines) or "it has made and changed no files")


async def _cost(room: "Room", _: str) -> None:
    found = await room.client.get(
        "usage", group_by="model", session_id=room.conversation.session_id
    )
    lines = []
    for one in found["items"]:
        cost = one.get("cost")
        amount = f", {money(cost['amount'], cost['currency'])}" if cost else ""
        calls = "1 call" if one["calls"] == 1 else f"{one['calls']:,} calls"
        lines.append(
            f"{one['key']}: {calls}, {one['tokens_in']:,} tokens in,"
            f" {one['tokens_out']:,} out{amount}"
        )
    room.note("\n".join(lines) or "no model was asked yet")


async def _approvals(room: "Room", _: str) -> None:
    lines = []
    for one in await room.client.sessions.approvals():
        said = one.request.get("message") or one.request.get("tool_name") or "a question"
        lines.append(f"{one.id}  session {one.session_id}: {said}")
    room.note("\n".join(lines) or "no question waits")
    if lines:
        room.note("trunkline session answer ID --yes answers one of another session")


async def _export(room: "Room", given: str) -> None:
    data = await room.client.http.call(
        "GET",
        *("sessions", room.conversation.session_id, "export"),
        query={"format": "markdown"},
        timeout_s=_EXPORT_S,
    )
    session_id = room.conversation.session_id
    title = (await room.client.get("sessions", session_id))["title"]
    name = given or file_name(title) or f"session-{session_id}.md"
    file = await asyncio.to_thread(_saved, name, data)
    room.note(f"{file}: {len(data):,} bytes")


def file_name(title: str | None) -> str:
    """A file for what is called so, in any script; empty where nothing of it can be one's name."""
    words = re.sub(r"[^\w.-]+", "-", title or "").strip("-.")[:_FILE_CHARS_MAX].rstrip("-.")
    return f"{words}.md" if words else ""


def _saved(name: str, data: bytes) -> Path:
    """Into a new file: nothing that is there is written over."""
    file = Path(name).expanduser()
    try:
        with file.open("xb") as out:
            out.write(data)
    except OSError as error:
        raise CommandFailed(f"cannot write {file}: {error.strerror}") from error
    return file


async def _queue(room: "Room", _: str) -> None:
    room.note("/queue TEXT says it when the turn that runs has ended")


async def _unfold(room: "Room", _: str) -> None:
    room.unfold()


async def _quit(room: "Room", _: str) -> None:
    room.desk.leave(0)


_DO: dict[str, Callable[["Room", str], Awaitable[None]]] = {
    "help": _help,
    "model": _model,
    "agent": _agent,
    "machine": _machine,
    "compact": _compact,
    "fork": _fork,
    "diff": _diff,
    "files": _files,
    "cost": _cost,
    "approvals": _approvals,
    "export": _export,
    "queue": _queue,
    "unfold": _unfold,
    "quit": _quit,
    "exit": _quit,
}
