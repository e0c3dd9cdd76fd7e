"""Routes of rules: what agents may do without a question, and what not at all."""

from typing import Annotated

import msgspec
from msgspec import Meta

from trunkline.control.access.auth import Principal
from trunkline.control.api.framework import Routes
from trunkline.control.core import Core
from trunkline.control.records.page import Page, Paging
from trunkline.control.services.rules import NewRule, Owner, Rule, RuleTrial, tried
from trunkline.permissions import rules as written
from trunkline.permissions.rules import Effect, Level

rules = Routes("rules")

_CALL_CHARS_MAX = 4_000


class RuleQuery(Paging, kw_only=True):
    level: Annotated[Level, Meta(description="Only of this level.")] | None = None
    session_id: (
        Annotated[str, Meta(max_length=100, description="Those that hold in this session.")] | None
    ) = None
    agent_id: (
        Annotated[str, Meta(max_length=100, description="Those for this agent alone.")] | None
    ) = None


class TrialQuery(msgspec.Struct, kw_only=True):
    effect: Annotated[Effect, Meta(description="What it would do.")] = "allow"
    rule: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=written.RULE_CHARS_MAX,
            description="As it would be written down.",
        ),
    ]
    call: Annotated[
        str,
        Meta(
            max_length=_CALL_CHARS_MAX,
            description="A command, a path, an address, or without a pattern a tool's name.",
        ),
    ] = ""


@rules.post("/rules", status=201, scope="approve", audit="rule.made")
async def add_rule(core: Core, who: Principal, body: NewRule) -> Rule:
    """Add a rule.

    `level` says for which sessions: your own (`user`), those of one agent, machine or session
    (`target` is its id), or everybody's in the organisation (`org`, for its admins). Sessions that
    run follow it at once. `deny` holds before `ask`, and `ask` before `allow`.
    """
    return await core.services.rules.add(who, body, await _owner(core, who, body))


@rules.get("/rules")
async def list_rules(core: Core, who: Principal, query: RuleQuery) -> Page[Rule]:
    """List rules: your own and your organisation's, newest first."""
    if query.session_id is not None:
        session = await core.sessions.get(who, query.session_id)
        held = await core.services.rules.of_session(session.id)
        wanted = [one for one in held if query.level in (None, one.level)]
        return Page([one for one in wanted if query.agent_id in (None, one.agent_id)])
    return await core.services.rules.page_of(who, query, query.level, query.agent_id)


@rules.get("/rules/trial")
async def try_rule(who: Principal, query: TrialQuery) -> RuleTrial:
    """Try a rule that is not made yet: how it is read, and whether it is for a call.

    `INVALID_RULE` says what is wrong with it.
    """
    return tried(query.effect, query.rule, query.call)


@rules.delete("/rules/{rule_id}", scope="approve", audit="rule.removed")
async def remove_rule(core: Core, who: Principal, rule_id: str) -> None:
    """Remove a rule. Sessions that run stop following it at once."""
    await core.services.rules.remove(who, rule_id)


async def _owner(core: Core, who: Principal, body: NewRule) -> Owner:
    """Whose sessions it is for."""
    target = body.target or ""
    match body.level:
        case "org":
            return Owner(who.org_id, None)
        case "user":
            return Owner(who.org_id, who.user_id)
        case "agent":
            agent = await core.records.agents.get(who, target)
            return Owner(agent.org_id, who.user_id, agent_id=agent.id)
        case "machine":
            machine = await core.records.machines.get(who, target)
            return Owner(machine.org_id, machine.user_id, machine_id=machine.id)
        case "session":
            session = await core.sessions.get(who, target)
            return Owner(session.org_id, session.user_id, session_id=session.id)
