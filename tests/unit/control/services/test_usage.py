"""Usage reports and their sums, on both databases."""

import pytest
from sqlalchemy import insert, update

from tests.support.clock import FakeClock
from tests.unit.control.services.conftest import World, add_session
from trunkline import limits
from trunkline.control.access.auth import Principal
from trunkline.control.errors import TrunklineError
from trunkline.control.services import Services
from trunkline.control.services.usage import GroupBy, UsageReport
from trunkline.control.store import schema
from trunkline.prices import Cost

DAY_S = 24 * 3600


def report(model: str = "gpt-4o", tokens_in: int = 10, tokens_out: int = 1) -> UsageReport:
    return UsageReport(model=model, tokens_in=tokens_in, tokens_out=tokens_out, latency_ms=100)


async def fill(services: Services, world: World, clock: FakeClock) -> None:
    clock.now_ms = 1_700_000_000_000  # 2023-11-14, 22:13 UTC
    other = await add_session(world.store, world.olga)
    await services.usage.record(world.org, world.ann.user_id, world.session, report())
    await services.usage.record(world.org, world.ann.user_id, world.session, report("claude", 50))
    clock.advance(DAY_S)
    await services.usage.record(world.org, world.olga.user_id, other, report())
    await services.usage.record(
        world.other_org, world.bob.user_id, world.bobs_session, report(tokens_in=10**11)
    )


async def sums(
    services: Services, who: Principal, by: GroupBy, **span: int
) -> dict[str | None, tuple[int, int, int]]:
    rows = await services.usage.summary(who, by, span.get("since"), span.get("until"))
    return {row.key: (row.calls, row.tokens_in, row.tokens_out) for row in rows}


async def test_usage_is_summed_by_every_key(
    world: World, services: Services, clock: FakeClock
) -> None:
    await fill(services, world, clock)
    olga = world.olga
    assert await sums(services, olga, "model") == {"gpt-4o": (2, 20, 2), "claude": (1, 50, 1)}
    assert await sums(services, olga, "user") == {
        world.ann.user_id: (2, 60, 2),
        olga.user_id: (1, 10, 1),
    }
    assert (await sums(services, olga, "session"))[world.session] == (2, 60, 2)
    assert await sums(services, olga, "day") == {
        "2023-11-14": (2, 60, 2),
        "2023-11-15": (1, 10, 1),
    }
    assert await sums(services, olga, "agent") == {world.agent: (2, 60, 2), None: (1, 10, 1)}
    latency = (await services.usage.summary(olga, "model"))[0].latency_ms_avg
    assert latency == pytest.approx(100.0)


async def test_usage_is_summed_by_the_machine_that_a_session_is_on(
    world: World, services: Services, clock: FakeClock
) -> None:
    machine = {
        "id": "m-1",
        "user_id": world.ann.user_id,
        "kind": "vm",
        "name": "here",
        "provider": "manual",
        "state": "online",
        "capabilities": [],
        "created_at": 1,
    }
    await world.store.run(insert(schema.machines).values(machine))
    on_it = update(schema.sessions).where(schema.sessions.c.id == world.session)
    await world.store.run(on_it.values(machine_id="m-1"))
    await fill(services, world, clock)
    assert await sums(services, world.olga, "machine") == {"m-1": (2, 60, 2), None: (1, 10, 1)}


async def test_each_group_can_be_summed_day_by_day(
    world: World, services: Services, clock: FakeClock
) -> None:
    await fill(services, world, clock)
    rows = await services.usage.summary(world.olga, "model", by_day=True)
    assert [(row.day, row.key, row.tokens_in) for row in rows] == [
        ("2023-11-15", "gpt-4o", 10),
        ("2023-11-14", "claude", 50),
        ("2023-11-14", "gpt-4o", 10),
    ]


async def test_members_see_their_own_and_admins_all(
    world: World, services: Services, clock: FakeClock
) -> None:
    await fill(services, world, clock)
    assert await sums(services, world.ann, "user") == {world.ann.user_id: (2, 60, 2)}
    assert await sums(services, world.bob, "model") == {"gpt-4o": (1, 10**11, 1)}
    assert len(await sums(services, world.root, "user")) == 3


async def test_a_span_of_time_can_be_chosen(
    world: World, services: Services, clock: FakeClock
) -> None:
    await fill(services, world, clock)
    split = clock.now_ms
    assert await sums(services, world.olga, "day", until=split) == {"2023-11-14": (2, 60, 2)}
    assert await sums(services, world.olga, "day", since=split) == {"2023-11-15": (1, 10, 1)}


@pytest.mark.parametrize(
    "bad",
    [
        report(tokens_in=-1),
        report(tokens_out=limits.TOKENS_MAX + 1),
        report(model=""),
        report(model="x" * 201),
        report(model="\x00"),
        UsageReport(model="m", tokens_in=1, tokens_out=1, latency_ms=-1),
        UsageReport(model="m", tokens_in=1, tokens_out=1, latency_ms=float("inf")),
        UsageReport(model="m", tokens_in=1, tokens_out=1, details={"x": "y" * 20_000}),
    ],
)
async def test_an_impossible_report_is_refused(sqlite_services: Services, bad: UsageReport) -> None:
    with pytest.raises(TrunklineError) as caught:
        await sqlite_services.usage.record("o", "u", None, bad)
    assert caught.value.status in (400, 413)


async def test_what_calls_cost_is_summed_and_what_nobody_knows_is_counted(
    world: World, services: Services
) -> None:
    ann = world.ann
    cached = UsageReport(
        model="gpt-4o-2024-08-06",
        tokens_in=1_000_000,
        tokens_out=100_000,
        details={"cache_read_tokens": 400_000},
    )
    own = UsageReport(model="opaque", tokens_in=1, tokens_out=1, cost_usd=0.25)
    for one in (cached, own, report("nobody-knows")):
        await services.usage.record(world.org, ann.user_id, world.session, one)
    [row] = await services.usage.summary(ann, "session", session_id=world.session)
    # 0.6 M at 2.50, 0.4 M from the cache at 1.25, 0.1 M out at 10, and what a program said itself.
    assert row.cost == Cost(1.5 + 0.5 + 1.0 + 0.25, "USD")
    assert (row.calls, row.unpriced_calls) == (3, 1)
    unknown = {one.key: one.cost for one in await services.usage.summary(ann, "model")}
    assert unknown["nobody-knows"] is None
    assert await services.usage.summary(ann, "session", session_id="another") == []


@pytest.mark.parametrize("cost", [-0.01, float("nan"), float("inf"), 1e9])
async def test_a_cost_that_is_none_is_refused(
    world: World, services: Services, cost: float
) -> None:
    wrong = UsageReport(model="m", tokens_in=1, tokens_out=1, cost_usd=cost)
    with pytest.raises(TrunklineError, match="cost_usd"):
        await services.usage.record(world.org, world.ann.user_id, world.session, wrong)
