"""Records by what people call them (`control/records/lookup.py`)."""

from typing import Any

import pytest
from sqlalchemy import insert

from tests.unit.control.people import People
from tests.unit.control.services.conftest import add_agent
from trunkline.control.access.auth import Principal
from trunkline.control.records import Records
from trunkline.control.records.lookup import LookupQuery, id_bounds
from trunkline.control.records.lookup_sources import Kind
from trunkline.control.store import schema, service_schema
from trunkline.control.store.engine import Store

ONE = "01a1dd16-7fed-7860-a4ee-8e35ee94311f"
TWO = "01a1dd16-7fed-7abc-a4ee-000000000000"


async def called(
    records: Records, who: Principal, kind: Kind, q: str, limit: int = 10
) -> list[tuple[str, str]]:
    found = await records.lookup.find(who, kind, LookupQuery(q=q, limit=limit))
    return [(one.name, one.match) for one in found.items]


async def add_session(store: Store, owner: Principal, session_id: str, **fields: Any) -> None:
    row = {
        "id": session_id,
        "org_id": owner.org_id,
        "user_id": owner.user_id,
        "runtime_type": "semigraph",
        "agent_config": {},
        "session_config": {},
        "status": "active",
        "updated_at": 1,
        "created_at": 1,
        **fields,
    }
    await store.run(insert(schema.sessions).values(row))


async def add_memory(store: Store, owner: Principal, content: str, **fields: Any) -> None:
    row = {
        "org_id": owner.org_id,
        "user_id": owner.user_id,
        "content": content,
        "metadata": {},
        "terms": "",
        "fts_rowid": fields["created_at"],
        **fields,
    }
    await store.run(insert(service_schema.memories).values(row))


async def test_names_in_any_case_exact_ones_before_those_that_begin_so(
    store: Store, records: Records, people: People
) -> None:
    for number, name in enumerate(
        (
            "Coder",
            "coder two",
            "Ärger",
            "写代码的",
            "50% off",
            "50 other",
            "a_b",
            "axb",
            "it's",
            'q"',
        )
    ):
        await add_agent(store, people.ann, name=name, created_at=number)
    await add_agent(store, people.bob, name="Coder of bob")
    for q, expected in {
        "coder": [("Coder", "name"), ("coder two", "name_prefix")],
        "  CODER ": [("Coder", "name"), ("coder two", "name_prefix")],
        "cod": [("coder two", "name_prefix"), ("Coder", "name_prefix")],
        "ärger": [("Ärger", "name")],
        "ÄR": [("Ärger", "name_prefix")],
        "写": [("写代码的", "name_prefix")],
        # What a database would take for something else is a name like any other.
        "50%": [("50% off", "name_prefix")],
        "a_": [("a_b", "name_prefix")],
        "%": [],
        "_": [],
        "\\": [],
        "it's": [("it's", "name")],
        'q"': [('q"', "name")],
        "' OR 1=1 --": [],
        "x" * 200: [],
        "oder": [],
    }.items():
        assert await called(records, people.ann, "agents", q) == expected, q
    assert len(await called(records, people.ann, "agents", "", 50)) == 10
    assert len(await called(records, people.ann, "agents", "", 3)) == 3


async def test_sessions_by_how_their_ids_begin_and_by_their_titles(
    store: Store, records: Records, people: People
) -> None:
    ann = people.ann
    await add_session(store, ann, ONE, title="Fix the build", last_activity_at=1)
    await add_session(store, ann, TWO, title="01a1 as a title", last_activity_at=2)
    for q, expected in {
        ONE: [("Fix the build", "id")],
        ONE.upper(): [("Fix the build", "id")],
        ONE.replace("-", ""): [("Fix the build", "id")],
        "01a1dd16-7fed-78": [("Fix the build", "id_prefix")],
        "01a1dd167fed7a": [("01a1 as a title", "id_prefix")],
        "01a1dd16-": [("01a1 as a title", "id_prefix"), ("Fix the build", "id_prefix")],
        "fix THE build": [("Fix the build", "name")],
        "fix": [("Fix the build", "name_prefix")],
        "01a1 as": [("01a1 as a title", "name_prefix")],
        "01a1dd1": [("01a1 as a title", "id_prefix"), ("Fix the build", "id_prefix")],
        "01a": [("01a1 as a title", "name_prefix")],
        "01a1d-d16": [],
        "ffff": [],
    }.items():
        assert await called(records, ann, "sessions", q) == expected, q


async def test_memories_by_how_their_texts_begin(
    store: Store, records: Records, people: People
) -> None:
    texts = ("Deploys happen on Tuesdays", "Deploys need 2 reviews", "部署在周二", "long " * 200)
    for number, text in enumerate(texts):
        await add_memory(store, people.ann, text, id=f"{number}{ONE[1:]}", created_at=number)
    await add_memory(store, people.bob, "Deploys of bob", id=TWO, created_at=9)

    async def found(q: str) -> list[tuple[str, str]]:
        items = (await records.lookup.find(people.ann, "memories", LookupQuery(q=q))).items
        return [(one.detail, one.match) for one in items]

    for q, expected in {
        "deploys HAPPEN": [(texts[0], "name_prefix")],
        "Deploys happen on tuesdays": [(texts[0], "name")],
        "Deploys": [(texts[1], "name_prefix"), (texts[0], "name_prefix")],
        "部署": [(texts[2], "name_prefix")],
        ONE[:8]: [(texts[0], "id_prefix")],
        "happen": [],
        "%": [],
    }.items():
        assert await found(q) == expected, q
    assert [one for _, one in await found(("long " * 40)[:200])] in (["name"], ["name_prefix"])


async def test_ones_own_are_told_from_those_of_others_that_one_sees(
    store: Store, records: Records, people: People
) -> None:
    for who in (people.bob, people.orla):
        await add_agent(store, who, name="Coder", created_at=1)
    found = await records.lookup.find(people.orla, "agents", LookupQuery(q="coder"))
    assert sorted(one.own for one in found.items) == [False, True]


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("01a", None),
        ("coder", None),
        ("", None),
        ("beef", ("beef0000-0000-0000-0000-000000000000", "beefffff-ffff-ffff-ffff-ffffffffffff")),
        ("dead-beef", None),
        ("０１２３", None),
        (ONE + "0", None),
        (ONE, (ONE, ONE)),
    ],
)
def test_what_an_id_may_begin_with(text: str, bounds: tuple[str, str] | None) -> None:
    assert id_bounds(text) == bounds
