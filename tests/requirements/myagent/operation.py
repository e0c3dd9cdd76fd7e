"""Document 001 §4 to §7: the flows, the environment, errors, best practices."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "001-4.1-basic-flow",
        "Connect, create a session, say something, see it think, get the answer, in this order.",
        "myagent.md#flows",
    ),
    Requirement(
        "001-4.1-agent-instance",
        "A created session is an agent that starts on a machine.",
        "myagent.md#flows",
    ),
    Requirement(
        "001-4.2-tool-flow",
        "A tool's call is shown when it begins, and its result when it is there.",
        "myagent.md#flows",
    ),
    Requirement(
        "001-4.3-confirmation-flow",
        "A question is shown, the person's response reaches the agent, and the result follows.",
        "myagent.md#flows",
    ),
    Requirement(
        "001-5-llm-messages-off-by-default",
        "Without `SEND_LLM_MESSAGE` no `agent.llm_message` is sent.",
        "myagent.md#settings",
    ),
    Requirement(
        "001-5-llm-messages-values",
        "`true`, `1`, `yes` and `on` switch `SEND_LLM_MESSAGE` on.",
        "myagent.md#settings",
    ),
    Requirement(
        "001-6-connection-errors",
        "A connection that may not be is refused.",
        "myagent.md#connection",
        divergence="everyone is authenticated, of which the document says nothing",
    ),
    Requirement(
        "001-6-protocol-errors",
        "Broken JSON and wrong forms are protocol errors, told as `system.error`.",
        "myagent.md#errors",
    ),
    Requirement(
        "001-6-session-not-found",
        "A session that does not exist is an error of that session.",
        "myagent.md#errors",
    ),
    Requirement(
        "001-6-agent-failure",
        "An agent that fails is an error of its session.",
        "myagent.md#errors",
    ),
    Requirement(
        "001-6-error-form",
        "An error has a text as `content`, and `error_code` and `details` in `metadata`.",
        "myagent.md#errors",
    ),
    Requirement(
        "001-7-reconnecting",
        "A client that reconnects misses nothing.",
        "myagent.md#positions",
    ),
    Requirement(
        "001-7-connection-watch",
        "A client can see that its connection lives: heartbeats come within a minute.",
        "myagent.md#system-events",
    ),
    Requirement(
        "001-7-session-isolation",
        "Messages are told apart by `session_id`: no session sees another's.",
        "myagent.md#message-form",
    ),
    Requirement(
        "001-7-error-kinds-are-told-apart",
        "A client can tell protocol errors from a session's errors.",
        "myagent.md#errors",
    ),
    Requirement(
        "001-7-batched-delivery",
        "What happens at once is written at once, in order, without a loss.",
        "myagent.md#events-to-a-client",
    ),
    Requirement(
        "001-7-steps-stay-the-same",
        "A step keeps its id on every connection, so that a page can pair what it shows.",
        "myagent.md#identifiers",
    ),
)
