"""Persons and groups over REST: what they take, what they refuse."""

from typing import Any

import pytest

from tests.unit.control.api.conftest import Api
from trunkline import limits


async def test_a_person_and_a_group_can_be_made_changed_listed_and_removed(api: Api) -> None:
    ann = api.people.ann
    machine = await api.schedule(ann)
    body = {"name": "小明", "prompt": "Be kind.", "model": "small", "machine_id": machine}
    person = await api.make(ann, "/persons", {**body, "runtime_type": "semigraph"})
    status, shown = await api.call(ann, "GET", f"/persons/{person}")
    assert status == 200
    assert {**shown, **body, "runtime_type": "semigraph"} == shown
    _, shown = await api.call(ann, "PATCH", f"/persons/{person}", {"model": None, "prompt": ""})
    assert (shown["model"], shown["prompt"], shown["machine_id"]) == (None, "", machine)
    group = await api.make(ann, "/groups", {"name": "团队", "person_ids": [person]})
    _, page = await api.call(ann, "GET", "/groups")
    assert [one["id"] for one in page["items"]] == [group]
    assert [one["name"] for one in page["items"][0]["persons"]] == ["小明"]
    _, machines = await api.call(ann, "GET", f"/machines/{group}")
    assert (machines["kind"], machines["online"], machines["name"]) == ("group", True, "团队")
    _, shown = await api.call(ann, "PATCH", f"/groups/{group}", {"name": "all-of-us"})
    assert shown["name"] == "all-of-us"
    assert (await api.call(ann, "DELETE", f"/persons/{person}"))[0] == 204
    _, shown = await api.call(ann, "GET", f"/groups/{group}")
    assert shown["persons"] == []
    assert (await api.call(ann, "DELETE", f"/groups/{group}"))[0] == 204
    assert (await api.call(ann, "GET", "/groups"))[1]["items"] == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": ""},
        {"name": None},
        {"name": 7},
        {"name": ["alice"]},
        {"name": "x" * 61},
        {"name": "two words"},
        {"name": "a\n"},
        {"name": "a\u0000"},
        {"name": "all"},
        {"name": "../etc"},
        {"name": "<b>"},
        {"name": "a", "prompt": "x" * (limits.TEXT_CHARS_MAX + 1)},
        {"name": "a", "prompt": None},
        {"name": "a", "model": ""},
        {"name": "a", "machine_id": ""},
        {"name": "a", "machine_id": 7},
        {"name": "a", "runtime_type": "root"},
    ],
)
async def test_a_person_that_makes_no_sense_is_refused(api: Api, body: Any) -> None:
    status, answer = await api.call(api.people.ann, "POST", "/persons", body)
    assert (status, answer["error"]["code"]) == (400, "INVALID_REQUEST")
    assert (await api.call(api.people.ann, "GET", "/persons"))[1]["items"] == []


@pytest.mark.parametrize(
    "body",
    [
        {"name": "two words"},
        {"name": "g", "person_ids": "alice"},
        {"name": "g", "person_ids": [7]},
        {"name": "g", "person_ids": [""]},
        {"name": "g", "person_ids": ["x"] * (limits.GROUP_PERSONS_MAX + 1)},
        {"name": "g", "person_ids": ["x" * 101]},
    ],
)
async def test_a_group_that_makes_no_sense_is_refused(api: Api, body: Any) -> None:
    status, answer = await api.call(api.people.ann, "POST", "/groups", body)
    assert (status, answer["error"]["code"]) == (400, "INVALID_REQUEST")
    assert (await api.call(api.people.ann, "GET", "/groups"))[1]["items"] == []


@pytest.mark.proves("notes-3-all")
async def test_a_group_has_sixteen_persons_at_most(api: Api) -> None:
    ann = api.people.ann
    ids = [await api.make(ann, "/persons", {"name": f"p{number}"}) for number in range(17)]
    status, answer = await api.call(ann, "POST", "/groups", {"name": "g", "person_ids": ids})
    assert (status, answer["error"]["code"]) == (400, "INVALID_REQUEST")
    await api.make(ann, "/groups", {"name": "g", "person_ids": ids[:16]})


async def test_a_person_cannot_live_on_a_group_or_on_a_machine_that_is_gone(api: Api) -> None:
    ann = api.people.ann
    group = await api.make(ann, "/groups", {"name": "g"})
    status, _ = await api.call(ann, "POST", "/persons", {"name": "a", "machine_id": group})
    assert status == 400
    machine = await api.schedule(ann)
    assert (await api.call(ann, "DELETE", f"/machines/{machine}"))[0] == 204
    status, answer = await api.call(ann, "POST", "/persons", {"name": "a", "machine_id": machine})
    assert (status, answer["error"]["code"]) == (404, "MACHINE_NOT_FOUND")


async def test_a_device_may_be_named_as_it_names_itself(api: Api) -> None:
    ann = api.people.ann
    path = f"/users/{ann.user_id}/devices"
    _, device = await api.call(ann, "POST", path, {"guid": "my-phone"})
    _, person = await api.call(ann, "POST", "/persons", {"name": "a", "machine_id": "my-phone"})
    assert person["machine_id"] == device["machine_id"]


async def test_an_admin_may_furnish_the_groups_of_others_with_what_is_theirs(api: Api) -> None:
    ann, orla, zoe = api.people.ann, api.people.orla, api.people.zoe
    person = await api.make(orla, "/persons", {"name": "a", "user_id": ann.user_id})
    own = await api.make(orla, "/persons", {"name": "b"})
    body = {"name": "g", "user_id": ann.user_id}
    group = await api.make(orla, "/groups", {**body, "person_ids": [person]})
    assert (await api.call(ann, "GET", f"/groups/{group}"))[1]["persons"][0]["id"] == person
    status, _ = await api.call(orla, "POST", "/groups", {**body, "name": "h", "person_ids": [own]})
    assert status == 404
    status, _ = await api.call(zoe, "POST", "/persons", {"name": "a", "user_id": ann.user_id})
    assert status == 404


async def test_a_group_gets_no_token_of_an_execution_plane(api: Api) -> None:
    group = await api.make(api.people.ann, "/groups", {"name": "g"})
    status, _ = await api.call(api.people.ann, "POST", f"/machines/{group}/token")
    assert status >= 400
