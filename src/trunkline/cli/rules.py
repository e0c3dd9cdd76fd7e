"""`trunkline rule`: what agents may do without a question, and what not at all."""

from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli import choices
from trunkline.cli.names import Named, RuleName, called, option
from trunkline.cli.output import Done, Record, Rows
from trunkline.cli.remote import Limit, collect, given, group, remote
from trunkline.cli.sure import Sure, make_sure

if TYPE_CHECKING:
    from trunkline.client import Client

app = group("rule", "What agents may do: allow, ask or deny.")

_COLUMNS = ("id", "effect", "rule", "level", "created_at")
_EMPTY = "no rules yet: trunkline rule add allow 'bash(git status *)'"
_Agent = Annotated[
    str | None,
    option("agents", "--agent", "For sessions with this agent: id or name."),
    Named("agents"),
]
_Machine = Annotated[
    str | None,
    option("machines", "--machine", "For sessions on this machine: id or name."),
    Named("machines"),
]
_Session = Annotated[
    str | None, option("sessions", "--session", "For this session: id or title."), Named("sessions")
]
_Org = Annotated[bool, typer.Option("--org", help="For everyone in the organisation.")]


@remote(app, "list", example="trunkline rule list --session 'Fix the build'")
async def list_rules(
    client: "Client",
    session: Annotated[
        str | None,
        option("sessions", "--session", "Those that hold in this session: id or title."),
        Named("sessions"),
    ] = None,
    limit: Limit = 50,
) -> Rows:
    """List rules: your own and your organisation's."""
    if session is not None:
        found = (await client.get("rules", session_id=session))["items"]
    else:
        found = await collect(client.each("rules"), limit)
    return Rows(found, _COLUMNS, empty=_EMPTY)


@remote(app, "add", example="trunkline rule add allow 'bash(git status *)'")
async def add_rule(
    client: "Client",
    effect: Annotated[choices.Effect, typer.Argument(help="What becomes of such calls.")],
    rule: Annotated[str, typer.Argument(help="bash(git push *), edit_file(src/**), mcp__x__*, …")],
    agent: _Agent = None,
    machine: _Machine = None,
    session: _Session = None,
    org: _Org = False,
) -> Record:
    """Add a rule for your own sessions, or for some of them. Sessions that run follow at once."""
    targets = given(agent=agent, machine=machine, session=session)
    if len(targets) + org > 1:
        raise typer.BadParameter("give one of --agent, --machine, --session and --org")
    level, target = next(iter(targets.items()), ("org" if org else "user", None))
    body = given(effect=effect, rule=rule, level=level, target=target)
    return Record(await client.post("rules", body=body))


@remote(app, "remove", example="trunkline rule remove 'bash(git status *)'")
async def remove_rule(client: "Client", rule_id: RuleName, is_sure: Sure = False) -> Done:
    """Remove a rule. Sessions that run stop following it at once."""
    named = await called(client, "rules", rule_id)
    if not is_sure:
        make_sure(f"Remove {named}?")
    await client.delete("rules", rule_id)
    return Done(f"removed {named}")
