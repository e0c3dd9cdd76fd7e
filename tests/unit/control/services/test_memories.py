"""Memory search, hybrid and full text only, English and Chinese, on both databases."""

import asyncio
from array import array
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, text
from structlog.testing import capture_logs

from tests.support.clock import FakeClock
from tests.unit.control.services.conftest import World
from trunkline import limits
from trunkline.control.errors import Forbidden, InvalidRequest, NotFound, TooLarge, TrunklineError
from trunkline.control.records.page import Paging
from trunkline.control.services import Services
from trunkline.control.services.embeddings import BuiltIn
from trunkline.control.services.memories import Memories, MemoryPatch
from trunkline.control.services.memory_search import blend, fts5_query, tsquery
from trunkline.control.services.memory_terms import asked, indexed
from trunkline.control.store import schema
from trunkline.control.store.engine import Store

FACTS = [
    "The user prefers dark mode in every editor",
    "Production runs on servers in Frankfurt",
    "用户喜欢深色主题",
    "项目部署在上海的服务器上",
    "Invoices go to billing@example.com on Fridays",
]


def missing() -> Any:
    raise ModuleNotFoundError("No module named 'wordllama'")


@pytest.fixture(params=["hybrid", "text only"])
async def memories(
    request: pytest.FixtureRequest, store: Store, clock: FakeClock, world: World
) -> Memories:
    embeddings = BuiltIn() if request.param == "hybrid" else BuiltIn(missing)
    service = Memories(store, clock, embeddings)
    for fact in FACTS:
        await service.add(world.org, world.ann.user_id, fact, {"fact": fact[:5]})
    return service


async def test_the_fitting_memory_comes_first(world: World, memories: Memories) -> None:
    expected = {
        "dark mode": 0,
        "Which editor theme: DARK?": 0,
        "Frankfurt": 1,
        "frankf": 1,
        "主题": 2,
        "我的主题偏好是什么": 2,
        "服务器在上海吗": 3,
        "部署": 3,
        "billing@example.com": 4,
    }
    found = {}
    for query in expected:
        hits = await memories.search(world.org, world.ann.user_id, query)
        found[query] = FACTS.index(hits[0].content)
        assert hits[0].metadata == {"fact": hits[0].content[:5]}
    assert found == expected


async def test_meaning_is_found_without_a_common_word(world: World, services: Services) -> None:
    for fact in FACTS:
        await services.memories.add(world.org, world.ann.user_id, fact)
    hits = await services.memories.search(world.org, world.ann.user_id, "favourite colour scheme")
    assert hits[0].content == FACTS[0]


async def test_scores_fall_and_lie_between_0_and_1(world: World, memories: Memories) -> None:
    hits = await memories.search(
        world.org, world.ann.user_id, "servers in production dark 服务器", 20
    )
    scores = [hit.score for hit in hits]
    assert len(scores) > 2
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


async def test_only_the_users_own_and_the_orgs_memories_are_found(
    world: World, memories: Memories
) -> None:
    await memories.add(world.org, None, "dark secret of the org")
    await memories.add(world.org, world.olga.user_id, "dark secret of Olga")
    await memories.add(world.other_org, world.bob.user_id, "dark secret of Bob")
    await memories.add(world.other_org, None, "dark secret of the other org")

    async def found(org_id: str, user_id: str | None) -> set[str]:
        hits = await memories.search(org_id, user_id, "dark secret", 20)
        return {hit.content for hit in hits if "secret" in hit.content}

    assert await found(world.org, world.ann.user_id) == {"dark secret of the org"}
    assert await found(world.org, None) == {"dark secret of the org"}
    both = {"dark secret of the org", "dark secret of Olga"}
    assert await found(world.org, world.olga.user_id) == both
    theirs = {"dark secret of Bob", "dark secret of the other org"}
    assert await found(world.other_org, world.bob.user_id) == theirs


async def test_top_k_is_clamped_to_its_bound(world: World, memories: Memories) -> None:
    for number in range(30):
        await memories.add(world.org, world.ann.user_id, f"apple number {number}")
    user = world.ann.user_id
    assert len(await memories.search(world.org, user, "apple", 1000)) == limits.MEMORY_TOP_K_MAX
    assert len(await memories.search(world.org, user, "apple", 3)) == 3
    assert len(await memories.search(world.org, user, "apple")) == limits.MEMORY_TOP_K_DEFAULT
    assert await memories.search(world.org, user, "apple", 0) == []
    assert await memories.search(world.org, user, "apple", -5) == []


HOSTILE_QUERIES = [
    '"',
    "'",
    'dark" OR "',
    "NEAR(dark mode)",
    "content:dark",
    "dark*",
    "-dark",
    "^dark",
    "%",
    "_",
    "\\",
    "dark') OR 1=1 --",
    "!!! & | :*",
    "的",
    "   ",
    "",
    "\ufffd\u202e",
    "word " * 700,
]


async def test_no_query_is_an_operator_or_an_error(world: World, memories: Memories) -> None:
    for query in HOSTILE_QUERIES:
        hits = await memories.search(world.org, world.ann.user_id, query)
        assert {hit.content for hit in hits} <= set(FACTS)
        assert await memories.search(world.other_org, world.bob.user_id, query) == []


async def test_percent_and_underscore_match_only_themselves(
    world: World, services: Services
) -> None:
    store, user = services.memories, world.ann.user_id
    await store.add(world.org, user, "zz")
    assert await store.search(world.org, user, "%") == []
    assert await store.search(world.org, user, "_") == []


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("", InvalidRequest),
        (" \n", InvalidRequest),
        ("a\x00b", InvalidRequest),
        ("\ud800", InvalidRequest),
        ("x" * (limits.MEMORY_CONTENT_CHARS_MAX + 1), TooLarge),
    ],
)
async def test_bad_content_is_refused(
    world: World, services: Services, content: str, kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        await services.memories.add(world.org, world.ann.user_id, content)


async def test_too_long_a_query_and_too_much_metadata_are_refused(
    world: World, services: Services
) -> None:
    user = world.ann.user_id
    with pytest.raises(TooLarge):
        await services.memories.search(world.org, user, "x" * 5000)
    with pytest.raises(InvalidRequest):
        await services.memories.search(world.org, user, "a\x00")
    with pytest.raises(TooLarge):
        await services.memories.add(world.org, user, "x", {"a": "x" * limits.METADATA_BYTES_MAX})


async def test_a_deleted_memory_is_not_found_again(world: World, memories: Memories) -> None:
    added = await memories.add(world.org, world.ann.user_id, "xylophone lessons")
    await memories.remove(world.ann, added.id)
    hits = await memories.search(world.org, world.ann.user_id, "xylophone")
    assert all("xylophone" not in hit.content for hit in hits)
    with pytest.raises(NotFound):
        await memories.remove(world.ann, added.id)


async def test_only_owners_and_admins_delete(world: World, services: Services) -> None:
    own = await services.memories.add(world.org, world.ann.user_id, "mine")
    shared = await services.memories.add(world.org, None, "ours")
    for stranger in (world.bob, a_member_of(world)):
        with pytest.raises(NotFound):
            await services.memories.remove(stranger, own.id)
    with pytest.raises(Forbidden):
        await services.memories.remove(world.ann, shared.id)
    for bad in ("", "x\x00y", "'; --"):
        with pytest.raises(NotFound):
            await services.memories.remove(world.ann, bad)
    await services.memories.remove(world.olga, shared.id)
    await services.memories.remove(world.olga, own.id)
    assert (await services.memories.page(world.root, Paging())).items == []


async def test_a_changed_memory_is_found_as_it_is_now(world: World, memories: Memories) -> None:
    user = world.ann.user_id
    added = await memories.add(world.org, user, "xylophone lessons on Monday", {"from": "chat"})
    patch = MemoryPatch(content="zither lessons on Friday")
    changed = await memories.change(world.ann, added.id, patch)
    assert (changed.id, changed.created_at, changed.metadata) == (
        added.id,
        added.created_at,
        {"from": "chat"},
    )
    hits = await memories.search(world.org, user, "zither")
    assert (hits[0].id, hits[0].content) == (added.id, "zither lessons on Friday")
    hits = await memories.search(world.org, user, "xylophone", 20)
    assert all("xylophone" not in hit.content for hit in hits)


async def test_who_may_change_which_memory_and_who_shares_it(
    world: World, services: Services
) -> None:
    memories, word = services.memories, MemoryPatch(content="other")
    own = await memories.add(world.org, world.ann.user_id, "mine")
    shared = await memories.add(world.org, None, "ours")
    with pytest.raises(NotFound):
        await memories.change(world.bob, own.id, word)
    with pytest.raises(Forbidden):
        await memories.change(world.ann, shared.id, word)
    for who in (world.ann, world.olga):  # not a member's to do, and not of another's memory
        with pytest.raises(Forbidden):
            await memories.change(who, own.id, MemoryPatch(shared=True))
    with pytest.raises(Forbidden):
        await memories.change(world.root, shared.id, MemoryPatch(shared=False))
    for bad in ("  ", "a\x00b", "x" * (limits.MEMORY_CONTENT_CHARS_MAX + 1)):
        with pytest.raises(TrunklineError):
            await memories.change(world.ann, own.id, MemoryPatch(content=bad))
    taken = await memories.change(world.olga, shared.id, MemoryPatch(shared=False))
    assert taken.user_id == world.olga.user_id
    assert [hit.content for hit in await memories.search(world.org, world.ann.user_id, "ours")] == [
        "mine"
    ]
    page = await memories.page_of(world.olga, Paging(), "own")
    assert [one.id for one in page.items] == [shared.id]
    assert (await memories.page_of(world.olga, Paging(), "shared")).items == []
    assert len((await memories.page_of(world.olga, Paging(), None)).items) == 2


def a_member_of(world: World) -> Any:
    return type(world.ann)("00000000-0000-7000-8000-000000000000", world.org, "member")


async def test_nothing_searchable_is_left_of_a_deleted_user(
    world: World, memories: Memories, store: Store
) -> None:
    async with store.write() as connection:
        await connection.execute(delete(schema.users).where(schema.users.c.id == world.ann.user_id))
    async with store.read() as connection:
        left = await connection.scalar(text("SELECT count(*) FROM memories"))
        assert left == 0
        if store.is_sqlite:
            assert await connection.scalar(text("SELECT count(*) FROM memories_fts")) == 0


async def test_memories_from_before_the_model_was_installed_are_still_found(
    world: World, store: Store, clock: FakeClock
) -> None:
    user = world.ann.user_id
    await Memories(store, clock, BuiltIn(missing)).add(world.org, user, "the cat is called Tom")
    later = Memories(store, clock, BuiltIn())
    hits = await later.search(world.org, user, "cat name")
    assert [hit.content for hit in hits] == ["the cat is called Tom"]


async def test_a_missing_model_is_told_once_and_search_goes_by_words(
    world: World, store: Store, clock: FakeClock
) -> None:
    memories = Memories(store, clock, BuiltIn(missing))
    with capture_logs() as logs:
        for _ in range(3):
            await memories.add(world.org, None, "the cat is called Tom")
        await asyncio.gather(*(memories.search(world.org, None, "cat") for _ in range(10)))
    assert [entry["event"] for entry in logs] == ["memory search is full text only"]
    state = await memories.index.state()
    assert (state.model, state.pending) == (None, 3)
    assert "wordllama" in str(state.problem)


async def test_vectors_are_unit_length_float32() -> None:
    word, nothing = await BuiltIn().encode(["hello world", ""])
    numbers = array("f", word)
    assert len(numbers) == (await BuiltIn().model()).dimension
    assert sum(number * number for number in numbers) == pytest.approx(1.0, abs=1e-5)
    assert not any(array("f", nothing))


def test_meaning_counts_more_than_words_and_both_lie_between_0_and_1() -> None:
    assert blend("cat", {"a": 1.0, "b": 0.5}, None) == [("a", 1.0), ("b", 0.5)]
    assert blend("cat", {}, None) == []
    meaning = {"a": 0.1, "c": 1.0, "d": -0.5}
    found = [("c", 0.85), ("a", pytest.approx(0.235)), ("d", 0.0)]
    assert blend("cat", {"a": 1.0}, meaning) == found


def test_words_count_for_more_in_scripts_without_spaces() -> None:
    meaning = {"a": 0.1, "c": 1.0}
    for query in ("猫在哪里", "which 猫"):
        assert dict(blend(query, {"a": 1.0}, meaning)) == pytest.approx({"c": 0.65, "a": 0.415})


@given(st.text(max_size=300))
def test_terms_are_bounded_and_never_empty(query: str) -> None:
    terms = asked(query)
    assert len(terms) <= 64
    assert all(terms)
    assert not any(one in "".join(terms) for one in " \"'():*&|!")
    assert set(terms) <= set(indexed(query).split())


def test_a_quote_cannot_end_a_search_term() -> None:
    assert fts5_query(['a"b', "NEAR"]) == '"a""b" OR "NEAR"*'
    assert tsquery(["a'b", "near", "深色"]) == "'a''b' | 'near':* | '深色'"
