"""`trunkline rule`: what agents may do without a question, and what not at all."""

from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli.output import Done, Record, Rows
from trunkline.cli.remote import Limit, collect, given, group, remote

if TYPE_CHECKING:
    from trunkline.client import Client

app = group("rule", "What agents may do: allow, ask or deny.")

_COLUMNS = ("id", "level", "effect", "rule", "created_at")
_Agent = Annotated[str | None, typer.Option(help="For sessions with this agent (its id).")]
_Machine = Annotated[str | None, typer.Option(help="For sessions on this machine (its id).")]
_Session = Annotated[str | None, typer.Option(help="For this session.")]
_Org = Annotated[bool, typer.Option("--org", help="For everyone in the organisation.")]


@remote(app, "list", example="trunkline rule list --session ID")
async def list_rules(
    client: "Client",
    session: Annotated[
        str | None, typer.Option(help="Those that hold in this session, whoever wrote them.")
    ] = None,
    limit: Limit = 50,
) -> Rows:
    """List rules: your own and your organisation's."""
    if session is not None:
        return Rows((await client.get("rules", session_id=session))["items"], _COLUMNS)
    return Rows(await collect(client.each("rules"), limit), _COLUMNS)


@remote(app, "add", example="trunkline rule add allow 'bash(git status *)'")
async def add_rule(
    client: "Client",
    effect: Annotated[str, typer.Argument(help="allow, ask or deny")],
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


@remote(app, "remove", example="trunkline rule remove ID")
async def remove_rule(client: "Client", rule_id: str) -> Done:
    """Remove a rule. Sessions that run stop following it at once."""
    await client.delete("rules", rule_id)
    return Done(f"removed {rule_id}")
