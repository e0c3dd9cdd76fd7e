"""People, organisations and tokens (`control/records/people.py`)."""

import pytest

from tests.unit.control.people import People
from trunkline.control.access.auth import Auth
from trunkline.control.errors import Conflict, Forbidden, NotFound, Unauthorized
from trunkline.control.records import Records
from trunkline.control.records.page import Paging
from trunkline.control.records.people import NewOrg, NewToken, NewUser, OrgPatch, UserPatch


async def test_a_new_user_lands_in_the_makers_org_as_a_member(
    records: Records, people: People
) -> None:
    user = await records.users.create(people.orla, NewUser(name="new"))
    assert (user.org_id, user.role) == (people.orla.org_id, "member")
    assert await records.users.get(people.orla, user.id) == user


async def test_members_make_no_users(records: Records, people: People) -> None:
    with pytest.raises(Forbidden):
        await records.users.create(people.ann, NewUser(name="new"))


async def test_nobody_gives_a_role_above_their_own(records: Records, people: People) -> None:
    with pytest.raises(Forbidden) as refused:
        await records.users.create(people.orla, NewUser(name="new", role="admin"))
    assert refused.value.code == "ROLE_REFUSED"
    with pytest.raises(Forbidden):
        await records.users.change(people.orla, people.ann.user_id, UserPatch(role="admin"))
    with pytest.raises(Forbidden):
        await records.users.change(people.ann, people.ann.user_id, UserPatch(role="org_admin"))
    with pytest.raises(Conflict):
        await records.users.change(people.ada, people.ada.user_id, UserPatch(role="member"))


async def test_an_org_admin_cannot_act_on_an_admin_in_the_same_org(
    records: Records, people: People
) -> None:
    ada = people.ada.user_id
    with pytest.raises(Forbidden):
        await records.users.change(people.orla, ada, UserPatch(name="mine"))
    with pytest.raises(Forbidden):
        await records.users.get_managed(people.orla, ada)
    with pytest.raises(Forbidden):
        await records.users.remove(people.orla, ada)


async def test_an_org_admin_makes_users_in_no_other_org(records: Records, people: People) -> None:
    with pytest.raises(NotFound):
        await records.users.create(people.orla, NewUser(name="x", org_id=people.zoe.org_id))
    made = await records.users.create(people.ada, NewUser(name="x", org_id=people.zoe.org_id))
    assert made.org_id == people.zoe.org_id


async def test_a_change_of_role_counts_at_once(
    records: Records, people: People, auth: Auth
) -> None:
    secret, _ = await auth.issue(people.ann.user_id)
    assert (await auth.identify(secret)).role == "member"
    await records.users.change(people.orla, people.ann.user_id, UserPatch(role="org_admin"))
    assert (await auth.identify(secret)).role == "org_admin"


async def test_removing_a_user_ends_their_tokens_and_cuts_each_connection(
    records: Records, people: People, auth: Auth
) -> None:
    cut: list[str] = []
    auth.revoked.watch(cut.append)
    secret, token_id = await auth.issue(people.ann.user_id)
    other, _ = await auth.issue(people.bob.user_id)
    await auth.identify(secret)
    await records.users.remove(people.orla, people.ann.user_id)
    assert cut == [token_id]
    with pytest.raises(Unauthorized):
        await auth.identify(secret)
    assert await auth.identify(other)
    with pytest.raises(NotFound):
        await records.users.get(people.ada, people.ann.user_id)


async def test_removing_an_org_ends_the_tokens_of_everyone_in_it(
    records: Records, people: People, auth: Auth
) -> None:
    secret, _ = await auth.issue(people.zoe.user_id)
    await auth.identify(secret)
    await records.orgs.remove(people.ada, people.zoe.org_id)
    with pytest.raises(Unauthorized):
        await auth.identify(secret)
    with pytest.raises(NotFound):
        await records.users.get(people.ada, people.zoe.user_id)


async def test_nobody_removes_themselves_or_their_own_org(records: Records, people: People) -> None:
    with pytest.raises(Conflict):
        await records.users.remove(people.ada, people.ada.user_id)
    with pytest.raises(Conflict):
        await records.orgs.remove(people.ada, people.ada.org_id)


async def test_only_admins_make_and_remove_orgs(records: Records, people: People) -> None:
    for who in (people.ann, people.orla):
        with pytest.raises(Forbidden):
            await records.orgs.create(who, NewOrg(name="mine"))
        with pytest.raises(Forbidden):
            await records.orgs.remove(who, who.org_id)
    made = await records.orgs.create(people.ada, NewOrg(name="new", default_runtime_type="acp"))
    assert (await records.orgs.get(people.ada, made.id)).default_runtime_type == "acp"


async def test_an_orgs_admin_changes_it_and_its_members_do_not(
    records: Records, people: People
) -> None:
    org_id = people.ann.org_id
    with pytest.raises(Forbidden):
        await records.orgs.change(people.ann, org_id, OrgPatch(name="ours"))
    changed = await records.orgs.change(people.orla, org_id, OrgPatch(name="ours"))
    assert (changed.name, changed.default_runtime_type) == ("ours", None)
    with pytest.raises(NotFound):
        await records.orgs.change(people.olaf, org_id, OrgPatch(name="theirs"))


async def test_pages_hold_everyone_once_newest_first(records: Records, people: People) -> None:
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = await records.users.page(people.ada, Paging(limit=2, cursor=cursor))
        seen += [user.id for user in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
        # Someone new in the middle shifts nothing.
        await records.users.create(people.ada, NewUser(name="late"))
    assert len(seen) == 6
    assert seen == sorted(set(seen), reverse=True)


async def test_tokens_are_listed_without_secrets_and_revoked_only_by_who_may(
    records: Records, people: People, auth: Auth
) -> None:
    issued = await records.tokens.issue(people.ada, people.ada.user_id, NewToken(label="laptop"))
    await auth.issue(people.ada.user_id, "login", life_s=60)
    page = await records.tokens.page(people.ada.user_id, Paging())
    assert [(token.id, token.label) for token in page.items] == [(issued.id, "laptop")]
    with pytest.raises(NotFound):
        await records.tokens.revoke(people.ann, issued.id)
    with pytest.raises(Forbidden):
        await records.tokens.revoke(people.orla, issued.id)
    await records.tokens.revoke(people.ada, issued.id)
    with pytest.raises(Unauthorized):
        await auth.identify(issued.token)


async def test_logging_out_ends_a_browsers_login_but_no_bearer_token(
    records: Records, people: People, auth: Auth
) -> None:
    cookie, _ = await auth.issue(people.ann.user_id, "cookie")
    bearer, _ = await auth.issue(people.ann.user_id)
    await records.tokens.log_out(await auth.identify(bearer))
    assert await auth.identify(bearer)
    await records.tokens.log_out(await auth.identify(cookie))
    with pytest.raises(Unauthorized):
        await auth.identify(cookie)
