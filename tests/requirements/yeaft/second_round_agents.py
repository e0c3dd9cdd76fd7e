"""The field notes on Yeaft, second round, as far as agents are concerned: what was seen by running
public agents against this control plane, and this machine on a public server."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "notes-3-found-by-secret",
        "An agent is found by its secret, its own or its owner's; `id`, `name` and `instanceId` are"
        " free text.",
        "yeaft.md#agent-handshake",
    ),
    Requirement(
        "notes-3-instance-names-the-agent",
        "With its owner's secret, `instanceId`, else `id`, names the machine, which is made at"
        " first sight; a user may have many.",
        "yeaft.md#agent-handshake",
    ),
    Requirement(
        "notes-3-end-behind-context-usage",
        "A deployed agent does not say the end of a second turn that came with files: ten seconds"
        " of silence behind `context_usage` end it.",
        "yeaft.md#whose-end-it-is",
    ),
    Requirement(
        "notes-3-silent-turn",
        "A turn that had begun, and of which an agent says nothing after its return, is ended after"
        " a minute or two, and cancelled.",
        "yeaft.md#returning-agents",
    ),
    Requirement(
        "notes-3-cost-is-the-difference",
        "`total_cost_usd` grows over the turns of one agent session: the turn's cost is the"
        " difference.",
        "yeaft.md#messages-from-agents",
    ),
    Requirement(
        "notes-3-title-from-the-first-prompt",
        "Titles come from the first prompt, unless somebody names the conversation.",
        "yeaft.md#the-yeaft-wire",
    ),
    Requirement(
        "notes-3-slash-commands",
        "`slash_commands_update` is kept for each agent.",
        "yeaft.md#messages-from-agents",
    ),
    Requirement(
        "notes-3-vouched-lists",
        "A `session_list_updated` that is passed on has `projectsAuthoritative: true`.",
        "yeaft.md#messages-from-agents",
    ),
    Requirement(
        "notes-3-node-keeps-the-catalog-whole",
        "A machine of ours on a deployed server names the provider that it was asked for, else"
        " `claude-code`, and never one that the server does not know.",
        "yeaft.md#providers",
    ),
    Requirement(
        "notes-3-node-answers-vp-subscribe",
        "A machine of ours answers `yeaft_vp_subscribe`.",
        "yeaft.md#providers",
    ),
)
