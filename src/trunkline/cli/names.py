"""What people call records on a command line: a whole id, how one begins, or a name.

A command says what it takes by the type of its parameter (`AgentName`, `SessionName` …): `@remote`
makes an id of it before the command's body runs, and the shell completes it. Others call `resolve`.
"""

import re
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from trunkline.cli.completing import completion
from trunkline.cli.output import CommandFailed, Json
from trunkline.log_form import one_line

if TYPE_CHECKING:
    from trunkline.client import Client

_WHOLE_ID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_ID_CHARS_MIN = 4  # as the server has it
_SHORT_ID = re.compile(rf"[0-9a-fA-F]{{1,{_ID_CHARS_MIN - 1}}}")
_ASKED = 10
_CANDIDATES_SHOWN = 5
_CHOICES_SHOWN = 8
_KNOWN_MAX = 50
_SHORT_ID_CHARS = 18  # the time it was made, to the millisecond, and twelve random bits
_NAME_CHARS = 60
_CLOSE = 0.6  # difflib's measure, from 0 to 1


class Named(NamedTuple):
    """Of a parameter's type: its value is what somebody calls a record of this kind."""

    kind: str


class _Noun(NamedTuple):
    one: str
    many: str
    command: str
    """That lists them."""


_NOUNS = {
    "agents": _Noun("agent", "agents", "agent list"),
    "machines": _Noun("machine", "machines", "machine list"),
    "sessions": _Noun("session", "sessions", "session list"),
    "persons": _Noun("person", "persons", "person list"),
    "groups": _Noun("group", "groups", "group list"),
    "skills": _Noun("skill", "skills", "skill list"),
    "mcp-servers": _Noun("MCP server", "MCP servers", "mcp list"),
    "users": _Noun("user", "users", "user list"),
    "orgs": _Noun("organisation", "organisations", "org list"),
    "tokens": _Noun("token", "tokens", "token list"),
    "memories": _Noun("memory", "memories", "memory list"),
    "rules": _Noun("rule", "rules", "rule list"),
    "approvals": _Noun("question", "questions", "session approvals"),
    "evolutions": _Noun("submitted skill", "submitted skills", "skill submitted"),
}
_NAMELESS = ("sessions", "memories", "approvals")
"""Of which a list of all names helps nobody."""


def _argument(kind: str, metavar: str, text: str = "") -> Any:
    told = text or f"The {_NOUNS[kind].one}: {_called(kind)}."
    return typer.Argument(metavar=metavar, help=told, autocompletion=completion(kind))


def option(kind: str, flag: str, text: str) -> Any:
    """For a parameter that is `Named`, where its meaning is its command's own."""
    return typer.Option(flag, help=text, autocompletion=completion(kind))


def _called(kind: str) -> str:
    """How one can be named; a beginning that is unique is enough."""
    words = {"sessions": "title", "tokens": "label", "rules": "text", "memories": "how it begins"}
    return f"id or {words.get(kind, 'name')}"


AgentName = Annotated[str, _argument("agents", "AGENT"), Named("agents")]
MachineName = Annotated[
    str,
    _argument("machines", "MACHINE", "The machine: id or name, or a device's guid."),
    Named("machines"),
]
SomeMachine = Annotated[
    str | None,
    _argument("machines", "MACHINE", "The machine: id or name. [shows which]"),
    Named("machines"),
]
SessionName = Annotated[str, _argument("sessions", "SESSION"), Named("sessions")]
UserName = Annotated[str, _argument("users", "USER"), Named("users")]
SomeUser = Annotated[
    str | None, _argument("users", "USER", "The user: id or name. [yourself]"), Named("users")
]
OrgName = Annotated[str, _argument("orgs", "ORG"), Named("orgs")]
SkillName = Annotated[str, _argument("skills", "SKILL"), Named("skills")]
TokenName = Annotated[str, _argument("tokens", "TOKEN"), Named("tokens")]
RuleName = Annotated[str, _argument("rules", "RULE"), Named("rules")]
ApprovalName = Annotated[
    str,
    _argument("approvals", "QUESTION", "The question: id, or that of its request."),
    Named("approvals"),
]
EvolutionName = Annotated[str, _argument("evolutions", "SUBMITTED"), Named("evolutions")]

OfAgent = Annotated[
    str | None, option("agents", "--agent", "An agent: id or name."), Named("agents")
]
OnMachine = Annotated[
    str | None,
    option("machines", "--machine", "A machine: id or name, or a device's guid. [one online]"),
    Named("machines"),
]
OfUser = Annotated[
    str | None, option("users", "--user", "The user: id or name. [you]"), Named("users")
]
OfOrg = Annotated[
    str | None,
    option("orgs", "--org", "The organisation: id or name. [your own]"),
    Named("orgs"),
]
Members = Annotated[
    list[str] | None,
    option("persons", "--person", "Who is in it: id or name; repeatable."),
    Named("persons"),
]


def record_name(path: str, noun: str) -> Any:
    """The type of a parameter that names one of the records that the API has at `/path`."""
    return Annotated[str, _argument(path, noun.upper()), Named(path)]


async def resolve(client: "Client", kind: str, text: str) -> str:
    """The id of the record that is called so; CommandFailed says which there are when there is
    none, or more than one."""
    from trunkline.client import ApiError

    asked = text.strip()
    noun = _NOUNS[kind]
    if not asked:
        raise CommandFailed(f"an empty text names no {noun.one}: give its {_called(kind)}")
    is_whole = _WHOLE_ID.fullmatch(asked) is not None
    if is_whole and kind != "machines":  # a device's own name may look like an id
        return asked.lower()
    try:
        found = await _found(client, kind, asked, _ASKED)
    except ApiError as error:
        if error.status != 404:
            raise
        if is_whole or kind in ("approvals", "skills"):
            return asked
        raise CommandFailed(
            f"this server is older than names: give the whole id of the {noun.one}"
            f" (trunkline {noun.command} --json)"
        ) from error
    best = _best(found)
    if len(best) == 1 or (best and kind == "skills" and best[0]["match"] == "name"):
        return str(best[0]["id"])
    if (kind == "approvals" and (not best or best[0]["match"] == "name")) or (
        is_whole and not best
    ):
        return asked  # the server knows more: which session asks, and what is no longer listed
    if best:
        raise CommandFailed(ambiguous(kind, asked, best))
    known = [] if kind in _NAMELESS else await _found(client, kind, "", _KNOWN_MAX)
    raise CommandFailed(unknown(kind, asked, [one["name"] for one in known if one["name"]]))


async def resolve_all(client: "Client", kinds: dict[str, str], values: Json) -> Json:
    """What a command is called with, with ids for names. `kinds`: which are names, of what."""
    made = dict(values)
    for parameter, kind in kinds.items():
        value = made.get(parameter)
        if isinstance(value, str):
            made[parameter] = await resolve(client, kind, value)
        elif value:
            made[parameter] = [await resolve(client, kind, one) for one in value]
    return made


async def called(client: "Client", kind: str, record_id: str) -> str:
    """A record as people know it, for questions and answers: `the agent 'Coder'`."""
    from trunkline.client import ClientError

    noun = f"the {_NOUNS[kind].one}"
    try:
        found = await _found(client, kind, record_id, 1)
    except ClientError:  # only words are lost: an older server, a token that may not look
        found = []
    if not found or record_id not in (found[0]["id"], found[0]["name"]):
        return f"{noun} {_quoted(record_id)}"
    name, detail = found[0]["name"], one_line(found[0]["detail"])
    if kind == "skills":
        is_one = found[0]["match"] == "id"
        told = f"{noun} {_quoted(name)}"
        return f"one version of {told} ({detail})" if is_one else f"{told} in all its versions"
    if kind == "memories":
        return f"{noun} {_quoted(detail)}"
    if not name:
        return f"{noun} {_quoted(record_id)}" + (f" ({detail})" if detail else "")
    return f"{noun} {_quoted(name)}" + (f" ({detail})" if kind == "rules" else "")


def kind_of(annotation: Any) -> str | None:
    """What a parameter of this type names."""
    marks = getattr(annotation, "__metadata__", ())
    return next((mark.kind for mark in marks if isinstance(mark, Named)), None)


async def _found(client: "Client", kind: str, q: str, limit: int) -> list[Json]:
    items: list[Json] = (await client.get("lookup", kind, q=q, limit=limit))["items"]
    return items


def _best(found: list[Json]) -> list[Json]:
    """Those that fit best; of several that have the very name, the caller's own if that is one."""
    best = [one for one in found if one["match"] == found[0]["match"]]
    own = [one for one in best if one.get("own") and one["match"] == "name"]
    return own if len(own) == 1 else best


def ambiguous(kind: str, text: str, found: list[Json]) -> str:
    """Which there are, each by as much of its id as tells it from the others."""
    length = _telling_length([one["id"] for one in found])
    shown = [_candidate(one, length) for one in found[:_CANDIDATES_SHOWN]]
    if len(found) > len(shown):
        shown.append(f"and {len(found) - len(shown)} more")
    verb = "are named" if found[0]["match"] == "name" else "begin with"
    count = f"{len(found)} or more" if len(found) == _ASKED else str(len(found))
    return f"{count} {_NOUNS[kind].many} {verb} {_quoted(text)}: {', '.join(shown)}"


def unknown(kind: str, text: str, known: list[str]) -> str:
    """With the name that it is near to, or with all of them where they are few."""
    import difflib

    noun = _NOUNS[kind]
    said = f"no {noun.one} is named {_quoted(text)}"
    by_plain = {name.lower(): name for name in reversed(known)}
    near = difflib.get_close_matches(text.lower(), by_plain, n=1, cutoff=_CLOSE)
    if near:
        return f"{said}; did you mean {_quoted(by_plain[near[0]])}?"
    if known and len(known) <= _CHOICES_SHOWN:
        there = "there is" if len(known) == 1 else "there are"
        return f"{said}; {there} {', '.join(map(_quoted, known))}"
    if not known and kind not in _NAMELESS:
        return f"{said}: there are no {noun.many} that you may see"
    if _SHORT_ID.fullmatch(text):
        said += f" (of an id, {_ID_CHARS_MIN} characters are needed)"
    return f"{said}: trunkline {noun.command} shows what there is"


def _candidate(one: Json, length: int) -> str:
    whole = str(one["id"])
    shown = whole if len(whole) <= length + 1 else f"{whole[:length]}…"
    name = f' "{one_line(one["name"])[:_NAME_CHARS]}"' if one["name"] else ""
    details = [one_line(one["detail"]), _day(one.get("at"))]
    about = ", ".join(part for part in details if part)
    return f"{shown}{name} ({about})" if about else f"{shown}{name}"


def _telling_length(ids: list[str]) -> int:
    longest = max(map(len, ids))
    for length in range(_SHORT_ID_CHARS, longest):
        if len({one[:length] for one in ids}) == len(ids):
            return length
    return longest


def _day(at_ms: Any, today: datetime | None = None) -> str:
    """Relative to today, where that is shorter."""
    if not isinstance(at_ms, int) or at_ms <= 0:
        return ""
    try:
        day = datetime.fromtimestamp(at_ms / 1000).date()
    except (OverflowError, ValueError, OSError):
        return ""
    days = ((today or datetime.now()).date() - day).days
    return {0: "today", 1: "yesterday"}.get(days, day.isoformat())


def _quoted(text: str) -> str:
    return f"'{one_line(text)[:_NAME_CHARS]}'"
