"""A session is made or taken up again, with all that a reader of it needs to go on."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from trunkline.cli.output import CommandFailed
from trunkline.client import Client, Event

Json = dict[str, Any]

TURNS_SHOWN = 3
_OPEN = ("queued", "sent")


class Opened(msgspec.Struct, kw_only=True):
    """A session, and where its log was when it was looked at. `running`: its open turns;
    `questions`: those that wait; `notices`: what the person should know of it first; `folder`: of
    this computer, where it was named so."""

    client: Client
    record: Json
    is_new: bool = False
    position: int = 0
    running: Sequence[str] = ()
    events: Sequence[Event] = ()
    questions: Sequence[Event] = ()
    notices: Sequence[str] = ()
    folder: Path | None = None

    @property
    def is_here(self) -> bool:
        """Whether its folder was named as this computer knows it."""
        return self.folder is not None

    @property
    def session_id(self) -> str:
        return str(self.record["id"])


async def made(client: Client, folder: Path | None = None, **choices: Any) -> Opened:
    """None leaves a choice to the server. `folder`: a folder of this computer."""
    body = {name: value for name, value in choices.items() if value is not None}
    record = await client.post("sessions", body=body)
    return Opened(
        client=client,
        record=record,
        is_new=True,
        position=record.get("last_event_id", 0),
        notices=_placed(record.get("placement")),
        folder=folder,
    )


def _placed(placement: Any) -> list[str]:
    """Which machine was chosen, and why; nothing where there was no choice."""
    if not isinstance(placement, dict):
        return []
    name, code, reason = (placement.get(one) for one in ("machine_name", "code", "reason"))
    if code == "named" or (code == "only_online" and "default" not in str(reason)):
        return []
    return [f"on {name}: {reason} (--machine chooses another one)"]


async def taken_up(client: Client, session_id: str) -> Opened:
    snapshot = await client.sessions.snapshot(session_id)
    record = snapshot["session"]
    title = record.get("title") or "no title"
    notices = [f"{title} · session {record['id']}"]
    if record.get("status") == "closed":
        notices.append("it is closed: it can be read, not talked to; /fork goes on in a copy")
    return Opened(
        client=client,
        record=record,
        position=snapshot["last_event_id"],
        running=[one["id"] for one in snapshot["turns"] if one["state"] in _OPEN],
        events=[Event(one["id"], one["event"]) for one in snapshot["events"]],
        questions=[
            Event(None, {**one["request"], "type": "approval_request"})
            for one in snapshot["approvals"]
            if one["state"] == "pending"
        ],
        notices=notices,
    )


async def newest(client: Client) -> str:
    """The session in which something happened last."""
    page = await client.get("sessions", status="active", members=False)
    if not page["items"]:
        raise CommandFailed("there is no session to go on with: trunkline chat makes one")
    return str(max(page["items"], key=lambda one: one["last_activity_at"])["id"])


def last_turns(events: Sequence[Event], turns: int = TURNS_SHOWN) -> Sequence[Event]:
    """The events since the last turns began."""
    begun = [
        number
        for number, event in enumerate(events)
        if event.type == "user_message" and "steers" not in event.data
    ]
    return events[begun[-turns] :] if len(begun) > turns else events
