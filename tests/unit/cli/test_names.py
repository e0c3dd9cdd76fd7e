"""Names on the command line (`cli/names.py`), and what a shell completes (`cli/completing.py`)."""

import re
from typing import Annotated, Any, cast

import pytest

from tests.unit.cli.test_help import ALL
from trunkline.cli import names
from trunkline.cli.completing import values
from trunkline.cli.output import CommandFailed
from trunkline.client import ApiError, Client

A = "01a1dd16-7fed-7860-a4ee-8e35ee94311f"
B = "01a1dd16-7fed-7861-a4ee-8e35ee94311f"


class Server:
    """Finds what it was given, as the route does; and none at all when it is an older one."""

    def __init__(self, *found: dict[str, Any], known: tuple[str, ...] = ()) -> None:
        self.found = list(found)
        self.known = known
        self.asked: list[str] = []

    async def get(self, *path: str, q: str, limit: int) -> Any:
        self.asked.append(q)
        if q:
            return {"items": self.found}
        return {"items": [one(A, name) for name in self.known]}


class Older(Server):
    async def get(self, *path: str, q: str, limit: int) -> Any:
        raise ApiError(404, "NOT_FOUND", "no such route")


def one(record_id: str, name: str, match: str = "name_prefix", **more: Any) -> dict[str, Any]:
    about = {"detail": "", "own": False, "at": 0, **more}
    return {"id": record_id, "name": name, "match": match, **about}


async def resolved(server: Server, text: str, kind: str = "agents") -> str:
    return await names.resolve(cast(Client, server), kind, text)


@pytest.mark.parametrize(
    ("found", "text", "meant"),
    [
        ([], A, A),
        ([], A.upper(), A),
        ([one(A, "Coder", "name")], "coder", A),
        ([one(A, "Coder", "name"), one(B, "Coder two")], "coder", A),
        ([one(B, "Coder", "id_prefix"), one(A, "01a1")], "01a1", B),
        ([one(A, "Coder")], " cod ", A),
        ([one(A, "Coder", "name", own=True), one(B, "Coder", "name")], "coder", A),
    ],
)
async def test_a_name_means_the_one_that_fits_best(
    found: list[dict[str, Any]], text: str, meant: str
) -> None:
    assert await resolved(Server(*found), text) == meant


@pytest.mark.parametrize(
    ("kind", "server", "text", "says"),
    [
        (
            "sessions",
            Server(
                one(A, "Fix the build", "id_prefix", detail="machine laptop"),
                one(B, "", "id_prefix"),
            ),
            "01a1",
            f"2 sessions begin with '01a1': {A[:18]}… \"Fix the build\" (machine laptop), {B[:9]}",
        ),
        (
            "machines",
            Server(*(one(f"{n}{A[1:]}", "pc", "name") for n in range(7))),
            "pc",
            f'7 machines are named \'pc\': {A[:18]}… "pc", 1{A[1:18]}… "pc", 2',
        ),
        (
            "agents",
            Server(*(one(f"{n}{A[1:]}", "a\x1b[2J") for n in range(10))),
            "a",
            "10 or more agents begin with 'a': 01a1dd16-7fed-7860… \"a\\x1b[2J\"",
        ),
        (
            "agents",
            Server(one(A, "Coder", own=True), one(B, "Coach")),
            "co",
            f"2 agents begin with 'co': {A[:18]}",
        ),
        ("agents", Server(known=("Coder", "Writer")), "codr", "did you mean 'Coder'?"),
        (
            "agents",
            Server(known=("Coder", "Writer")),
            "zzz",
            "no agent is named 'zzz'; there are 'Coder', 'Writer'",
        ),
        (
            "agents",
            Server(),
            "zzz",
            "no agent is named 'zzz': there are no agents that you may see",
        ),
        (
            "users",
            Server(known=tuple(f"user{n:03}" for n in range(9))),
            "zzz",
            "no user is named 'zzz': trunkline user list shows what there is",
        ),
        (
            "sessions",
            Server(),
            "\x1b]0;x",
            r"no session is named '\x1b]0;x': trunkline session list",
        ),
        (
            "sessions",
            Server(),
            "01",
            "no session is named '01' (of an id, 4 characters are needed): trunkline session list",
        ),
        ("agents", Server(), "  ", "an empty text names no agent: give its id or name"),
        ("agents", Older(), "coder", "this server is older than names: give the whole id"),
    ],
)
async def test_what_is_not_one_record_is_told_with_those_there_are(
    kind: str, server: Server, text: str, says: str
) -> None:
    with pytest.raises(CommandFailed) as failed:
        await resolved(server, text, kind)
    assert says in str(failed.value)
    assert str(failed.value).isprintable()


@pytest.mark.parametrize(
    ("kind", "server", "text"),
    [
        ("agents", Older(), A),
        ("machines", Older(), A),
        ("machines", Server(), A),  # given up, or not there: the server says which
        ("skills", Older(), "pdf"),
        ("approvals", Older(), "q1"),
        ("approvals", Server(), "q1"),
        ("approvals", Server(one(A, "q1", "name"), one(B, "q1", "name")), "q1"),
    ],
)
async def test_what_the_server_understands_by_itself_is_left_to_it(
    kind: str, server: Server, text: str
) -> None:
    assert await resolved(server, text, kind) == text


async def test_a_whole_id_asks_nobody_and_a_command_gets_ids_for_all_its_names() -> None:
    server = Server(one(B, "bob", "name"))
    kinds = {"agent": "agents", "persons": "persons", "none": "users"}
    given = {"agent": A, "persons": ["bob", A], "none": None, "other": "bob"}
    made = await names.resolve_all(cast(Client, server), kinds, given)
    assert made == {"agent": A, "persons": [B, A], "none": None, "other": "bob"}
    assert server.asked == ["bob"]
    assert names.kind_of(names.AgentName) == "agents"
    assert names.kind_of(Annotated[str, 1]) is None


def test_names_are_completed_where_they_tell_records_apart() -> None:
    found = [
        one(A, "Coder", detail="gpt"),
        one(B, "same"),
        one(A, "Same"),
        one(A, "", detail="a memory"),
        one(A, "one\nline"),
        one(A, " blank"),
        one(A, "x" * 81),
        one(A, "Coder", "id_prefix", detail="gpt\x1b[2J"),
    ]
    assert values(found[:1]) == [("Coder", "gpt")]
    assert [value for value, _ in values(found[1:])] == [B, A, A, A, A, A, A]
    assert values(found[3:4]) == [(A, "a memory")]
    assert values(found[-1:]) == [(A, "Coder, gpt[2J")]


NAMING = ("agent", "fork", "machine", "org", "person", "session", "user")
OTHERS = {
    (("up",), "machine"),  # a switch, like the next
    (("rule", "add"), "org"),
    (("session", "adopt"), "conversation_id"),  # of another program, which keeps it
}


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_whatever_takes_a_record_says_that_it_takes_a_name(path: tuple[str, ...]) -> None:
    for one in ALL[path].params:
        is_record = one.name.endswith("_id") or one.name in NAMING
        if is_record and (path, one.name) not in OTHERS:
            assert re.search(r"\bid( or|, or)\b", one.help), f"{one.name}: {one.help}"
