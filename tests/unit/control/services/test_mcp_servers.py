"""Records of MCP servers: what is shown, what is sealed, who reaches which, on both databases."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import select

from tests.unit.control.services.conftest import World
from trunkline import limits
from trunkline.control.errors import Conflict, Forbidden, InvalidRequest, NotFound, TrunklineError
from trunkline.control.records.page import Paging
from trunkline.control.services import Services
from trunkline.control.services.mcp_servers import HEADERS_MAX, McpServerInput, McpServerPatch
from trunkline.control.store import service_schema

URL = "https://mcp.example.com/s/abcdefghijklmnopqrstuvwxyz/mcp?key=s3cret"


def remote(**more: Any) -> McpServerInput:
    return McpServerInput(**{"name": "github", "type": "remote", "url": URL, **more})


def local(**more: Any) -> McpServerInput:
    return McpServerInput(**{"name": "fs", "type": "local", "command": "mcp-fs", **more})


async def test_url_and_headers_are_sealed_and_come_back_only_for_a_call(
    world: World, services: Services
) -> None:
    given = remote(headers={"Authorization": "Bearer t0ken"}, timeout_s=5)
    added = await services.mcp_servers.add(world.org, world.ann.user_id, given)
    assert added.url == "https://mcp.example.com/s/…/mcp"
    async with world.store.read() as connection:
        row = (await connection.execute(select(service_schema.mcp_servers))).one()
    for secret in ("s3cret", "t0ken", "abcdefghij"):
        assert secret not in repr(tuple(row))
        assert secret not in repr(added)
    endpoint = await services.mcp_servers.endpoint(world.org, world.ann.user_id, "github")
    assert (endpoint.url, endpoint.headers) == (URL, {"Authorization": "Bearer t0ken"})
    assert endpoint.timeout_s == 5


async def test_a_session_is_told_names_of_remote_and_commands_of_local_servers(
    world: World, services: Services
) -> None:
    hub = await services.mcp_servers.add(world.org, world.ann.user_id, remote())
    fs = await services.mcp_servers.add(world.org, None, local(args=["/", "--ro"]))
    await services.mcp_servers.add(world.org, world.olga.user_id, local(name="olgas"))
    await services.mcp_servers.add(world.other_org, None, local(name="others"))
    user = world.ann.user_id
    both = [
        {"id": fs.id, "name": "fs", "type": "local", "command": "mcp-fs", "args": ["/", "--ro"]},
        {"id": hub.id, "name": "github", "type": "remote"},
    ]
    assert await services.mcp_servers.index_for(world.org, user) == both
    assert await services.mcp_servers.index_for(world.org, user, ["github", "x"]) == both[1:]
    assert await services.mcp_servers.index_for(world.org, user, []) == []


async def test_a_remote_server_is_called_by_its_name_or_its_id(
    world: World, services: Services
) -> None:
    servers = services.mcp_servers
    hub = await servers.add(world.org, world.ann.user_id, remote())
    by_name = await servers.endpoint(world.org, world.ann.user_id, "github")
    assert await servers.endpoint(world.org, world.ann.user_id, hub.id) == by_name
    with pytest.raises(NotFound):
        await servers.endpoint(world.org, world.olga.user_id, hub.id)
    misleading = await servers.add(world.org, world.ann.user_id, remote(name=hub.id))
    found = await servers.endpoint(world.org, world.ann.user_id, hub.id)
    assert found.server_id == misleading.id


async def test_a_users_own_server_hides_the_orgs_of_the_same_name(
    world: World, services: Services
) -> None:
    servers = services.mcp_servers
    await servers.add(world.org, None, remote(url="https://org.example.com/mcp"))
    await servers.add(world.org, world.ann.user_id, remote(url="https://ann.example.com/mcp"))
    assert len(await servers.index_for(world.org, world.ann.user_id)) == 1
    anns = await servers.endpoint(world.org, world.ann.user_id, "github")
    olgas = await servers.endpoint(world.org, world.olga.user_id, "github")
    assert (anns.url, olgas.url) == ("https://ann.example.com/mcp", "https://org.example.com/mcp")


async def test_a_name_is_unique_for_each_owner_also_in_a_race(
    world: World, services: Services
) -> None:
    for owner in (None, world.ann.user_id):
        adding = (services.mcp_servers.add(world.org, owner, remote()) for _ in range(5))
        outcomes = await asyncio.gather(*adding, return_exceptions=True)
        refused = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        assert len(refused) == 4
        assert all(isinstance(error, Conflict) for error in refused)


@pytest.mark.parametrize(
    "given",
    [
        remote(name=""),
        remote(name="a b"),
        remote(name="../x"),
        remote(name="x" * 101),
        remote(name="a\x00"),
        remote(name="a\n"),
        remote(url=None),
        remote(url="ftp://example.com/"),
        remote(url="file:///etc/passwd"),
        remote(url="https://"),
        remote(url="not a url"),
        remote(url="http://[::1"),
        remote(url="https://user:pw@example.com/"),
        remote(url="https://example.com/\x00"),
        remote(url="https://example.com/" + "x" * 1000),
        remote(headers={"Host": "internal"}),
        remote(headers={"content-length": "5"}),
        remote(headers={"Mcp-Session-Id": "x"}),
        remote(headers={"x\r\ny": "z"}),
        remote(headers={"x": "a\r\nevil: 1"}),
        remote(headers={"x": "ü"}),
        remote(headers={"x": "y" * 8001}),
        remote(headers={f"x{i}": "y" for i in range(HEADERS_MAX + 1)}),
        remote(timeout_s=0),
        remote(timeout_s=-1),
        remote(timeout_s=float("nan")),
        remote(timeout_s=601),
        remote(command="rm"),
        local(command=None),
        local(command="a\x00"),
        local(url="https://example.com"),
        local(args=["x"] * (limits.MCP_ARGS_MAX + 1)),
    ],
)
async def test_bad_input_is_refused(sqlite_services: Services, given: McpServerInput) -> None:
    with pytest.raises(TrunklineError) as caught:
        await sqlite_services.mcp_servers.add("org", "user", given)
    assert caught.value.status in (400, 413)


async def test_records_are_listed_and_deleted_by_those_who_may(
    world: World, services: Services
) -> None:
    servers = services.mcp_servers
    own = await servers.add(world.org, world.ann.user_id, remote())
    shared = await servers.add(world.org, None, local())
    listed = {server.id for server in (await servers.page(world.ann, Paging())).items}
    assert listed == {own.id, shared.id}
    assert (await servers.page(world.bob, Paging())).items == []
    with pytest.raises(NotFound):
        await servers.remove(world.bob, own.id)
    with pytest.raises(NotFound):
        await servers.remove(world.ann, "no-such-id")
    with pytest.raises(Forbidden):
        await servers.remove(world.ann, shared.id)
    await servers.remove(world.olga, shared.id)
    await servers.remove(world.ann, own.id)
    assert (await servers.page(world.root, Paging())).items == []


async def test_a_local_server_has_no_endpoint(world: World, services: Services) -> None:
    await services.mcp_servers.add(world.org, None, local())
    with pytest.raises(InvalidRequest):
        await services.mcp_servers.endpoint(world.org, world.ann.user_id, "fs")


async def test_a_changed_server_keeps_what_was_not_said(world: World, services: Services) -> None:
    servers, user = services.mcp_servers, world.ann.user_id
    added = await servers.add(world.org, user, remote(headers={"Authorization": "t0ken"}))
    changed = await servers.change(world.ann, added.id, McpServerPatch(name="hub", timeout_s=9))
    assert (changed.name, changed.timeout_s, changed.url) == ("hub", 9, added.url)
    endpoint = await servers.endpoint(world.org, user, "hub")
    assert (endpoint.url, endpoint.headers) == (URL, {"Authorization": "t0ken"})
    await servers.change(world.ann, added.id, McpServerPatch(headers={}))
    assert (await servers.endpoint(world.org, user, "hub")).headers == {}
    await servers.add(world.org, user, remote())
    with pytest.raises(Conflict):
        await servers.change(world.ann, added.id, McpServerPatch(name="github"))


async def test_a_server_that_is_switched_off_is_told_to_nobody_and_not_called(
    world: World, services: Services
) -> None:
    servers, user = services.mcp_servers, world.ann.user_id
    forgotten: list[str] = []
    servers.on_change(forgotten.append)
    added = await servers.add(world.org, user, remote())
    await servers.change(world.ann, added.id, McpServerPatch(enabled=False))
    assert forgotten == [added.id]
    assert await servers.index_for(world.org, user) == []
    with pytest.raises(InvalidRequest, match="switched off"):
        await servers.endpoint(world.org, user, "github")
    await servers.add(world.org, None, remote(url="https://org.example.com/mcp"))
    assert (await servers.endpoint(world.org, user, "github")).url == "https://org.example.com/mcp"
    await servers.change(world.ann, added.id, McpServerPatch(enabled=True))
    assert (await servers.endpoint(world.org, user, "github")).url == URL


@pytest.mark.parametrize(
    "patch",
    [
        McpServerPatch(name="a b"),
        McpServerPatch(url="file:///etc/passwd"),
        McpServerPatch(url="http://[::1"),
        McpServerPatch(url="https://thief.example/mcp"),
        McpServerPatch(url="http://mcp.example.com/mcp"),
        McpServerPatch(headers={"Host": "internal"}),
        McpServerPatch(command="rm"),
        McpServerPatch(timeout_s=float("nan")),
    ],
)
async def test_a_bad_change_is_refused_and_headers_go_to_no_other_host(
    world: World, services: Services, patch: McpServerPatch
) -> None:
    servers = services.mcp_servers
    given = remote(headers={"Authorization": "t0ken"})
    added = await servers.add(world.org, world.ann.user_id, given)
    with pytest.raises(InvalidRequest):
        await servers.change(world.ann, added.id, patch)
    assert await servers.get(world.ann, added.id) == added


async def test_nobody_says_what_anothers_sessions_start(world: World, services: Services) -> None:
    servers, patch = services.mcp_servers, McpServerPatch(command="evil")
    anns = await servers.add(world.org, world.ann.user_id, local())
    shared = await servers.add(world.org, None, local())
    for who, server in ((world.olga, anns), (world.ann, shared)):
        with pytest.raises(Forbidden):
            await servers.change(who, server.id, patch)
    with pytest.raises(NotFound):
        await servers.change(world.bob, anns.id, patch)
    assert (await servers.change(world.olga, shared.id, patch)).command == "evil"
