"""`trunkline user quota` and `trunkline org quota`: how much there may be, and is."""

from typing import TYPE_CHECKING, Annotated

import typer

from trunkline import names
from trunkline.cli.names import OrgName, SomeUser
from trunkline.cli.output import CommandFailed, Json, Rows
from trunkline.cli.remote import given, remote

if TYPE_CHECKING:
    from trunkline.client import Client

_MAX = 2**63 - 1
_NAMES = ("sessions", "stored_bytes", "agents", "memories", "snapshot_bytes", "skill_bytes")

Sessions = Annotated[int | None, typer.Option(min=0, max=_MAX, help="Open sessions at most.")]
StoredBytes = Annotated[int | None, typer.Option(min=0, max=_MAX, help="Bytes of sessions.")]
Agents = Annotated[int | None, typer.Option(min=0, max=_MAX, help="Agents at most.")]
Memories = Annotated[int | None, typer.Option(min=0, max=_MAX, help="Memories at most.")]
SnapshotBytes = Annotated[int | None, typer.Option(min=0, max=_MAX, help="Of saved states.")]
SkillBytes = Annotated[int | None, typer.Option(min=0, max=_MAX, help="Bytes of skills.")]
Reset = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Take this one back, as stored_bytes; may be repeated."),
]


def add_to(users: typer.Typer, orgs: typer.Typer) -> None:
    remote(users, "quota", example="trunkline user quota Ada --agents 200")(of_user)
    remote(orgs, "quota", example="trunkline org quota Acme --stored-bytes 1000000000")(of_org)


async def of_user(
    client: "Client",
    user: SomeUser = None,
    sessions: Sessions = None,
    stored_bytes: StoredBytes = None,
    agents: Agents = None,
    memories: Memories = None,
    snapshot_bytes: SnapshotBytes = None,
    reset: Reset = None,
) -> Rows:
    """Show how much a user has of what they may have, or change it."""
    said = _reset(reset) | given(
        sessions=sessions,
        stored_bytes=stored_bytes,
        agents=agents,
        memories=memories,
        snapshot_bytes=snapshot_bytes,
    )
    if not said:
        return _rows(await client.get("quotas", user_id=user))
    user_id = user or str((await client.me())["user"]["id"])
    return _rows(await client.patch("users", user_id, "quotas", body=said))


async def of_org(
    client: "Client",
    org_id: OrgName,
    sessions: Sessions = None,
    stored_bytes: StoredBytes = None,
    agents: Agents = None,
    memories: Memories = None,
    snapshot_bytes: SnapshotBytes = None,
    skill_bytes: SkillBytes = None,
    reset: Reset = None,
) -> Rows:
    """Show how much each user of an organisation may have, and it itself, or change it."""
    said = _reset(reset) | given(
        sessions=sessions,
        stored_bytes=stored_bytes,
        agents=agents,
        memories=memories,
        snapshot_bytes=snapshot_bytes,
        skill_bytes=skill_bytes,
    )
    if not said:
        return _rows(await client.get("orgs", org_id, "quotas"))
    return _rows(await client.patch("orgs", org_id, "quotas", body=said))


def _reset(said: list[str] | None) -> Json:
    taken_back = [one.replace("-", "_") for one in said or ()]
    for one in taken_back:
        if one not in _NAMES:
            raise CommandFailed(names.not_one_of(one, _NAMES))
    return dict.fromkeys(taken_back)


def _rows(found: Json) -> Rows:
    from trunkline.cli.human import count, size

    def shown(one: Json) -> Json:
        form = size if one["name"].endswith("bytes") else count
        used = one.get("used")
        return {**one, "used": None if used is None else form(used), "max": form(one["max"])}

    def share(one: Json) -> str | None:
        if one.get("used") is None:
            return None  # of many users
        return f"{100 * one['used'] / one['max']:.0f} %" if one["max"] else "–"

    raw = found["items"]
    items = [{**one, "share": share(one)} for one in raw]
    columns = ("name", "used", "max", "share", "source", "of")
    return Rows(items, columns, raw=raw, view=[shown(one) for one in items])
