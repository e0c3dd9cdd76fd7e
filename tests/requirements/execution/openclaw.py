"""Document 004 §4.4 to §4.6: the bridge to OpenClaw. Its socket's protocol serves every runtime."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "004-4.4-bridge-process",
        "An OpenClaw session is a Node.js process that is given `SOCKET_PATH`, `SESSION_ID`,"
        " `SKILLS_CACHE_DIR` and `MEMORY_DIR` in its environment.",
        "execution.md#openclaw",
    ),
    Requirement(
        "004-4.4-connects-in-time",
        "A bridge that does not connect within 10 seconds fails the start of its session.",
        "execution.md#openclaw",
    ),
    Requirement(
        "004-4.4-start-and-ready",
        "The bridge gets `start` with agent_config, skill_index, api_keys and openclaw_config;"
        " anything but `ready` in return fails the start.",
        "execution.md#openclaw",
    ),
    Requirement(
        "004-4.4-messages-and-cancel",
        "The adapter hands user messages and cancels to the bridge.",
        "execution.md#openclaw",
    ),
    Requirement(
        "004-4.4-stop",
        "A bridge that is told to stop has 5 seconds, then it is killed; its socket is removed.",
        "execution.md#openclaw",
    ),
    Requirement(
        "004-4.4-snapshot",
        "The bridge's adapter answers a snapshot with `runtime_type` and `session_id`.",
        "execution.md#openclaw",
    ),
    Requirement(
        "004-4.4-requests-are-passed-on",
        "A bridge's request is asked of the control plane and answered with its id, by a result or"
        " an error.",
        "execution.md#openclaw",
    ),
    Requirement(
        "004-4.4-error-is-an-event",
        "An `error` of the bridge becomes an `execution_error` of its session.",
        "execution.md#openclaw",
    ),
    Requirement(
        "004-4.5-unix-socket",
        "Daemon and session process talk over a Unix socket that only their user can open.",
        "ipc.md#the-socket",
    ),
    Requirement(
        "004-4.5-json-lines",
        "Every line of the socket is one JSON object with a `type`.",
        "ipc.md#daemon-and-session-process",
    ),
    Requirement(
        "004-4.5-down-types",
        "Down come `start`, `user_message`, `cancel`, `stop` and `response`.",
        "ipc.md#down-daemon--process",
    ),
    Requirement(
        "004-4.5-up-types",
        "Up go `ready`, `sse_event`, `request`, `fire_and_forget` and `error`.",
        "ipc.md#up-process--daemon",
    ),
    Requirement(
        "004-4.5-ready-first",
        "A session takes messages once its process said `ready`.",
        "ipc.md#the-socket",
    ),
    Requirement(
        "004-4.5-requests-by-id",
        "A process' request is asked of the control plane, and the `response` has its id and a"
        " result or an error.",
        "ipc.md#down-daemon--process",
    ),
    Requirement(
        "004-4.5-events-and-reports",
        "A process' events and reports go up the line under its session.",
        "ipc.md#up-process--daemon",
    ),
    Requirement(
        "004-4.5-error-is-an-event",
        "A process' `error` becomes an `execution_error` of its session.",
        "execution.md#failures",
    ),
    Requirement(
        "004-4.5-runs-openclaw",
        "The bridge runs OpenClaw's own brain, skills and memory.",
        "execution.md#openclaw",
    ),
    Requirement(
        "004-4.6-text",
        "OpenClaw's token becomes `text_chunk` with its content.",
        "execution.md#openclaw",
    ),
    Requirement(
        "004-4.6-tools",
        "OpenClaw's tool_use and tool_result become `tool_call_start` and `tool_call_complete`.",
        "execution.md#openclaw",
    ),
    Requirement(
        "004-4.6-skills",
        "OpenClaw's skill_invoke and skill_result become `skill_call_start` and"
        " `skill_call_complete`.",
        "execution.md#openclaw",
    ),
    Requirement(
        "004-4.6-thinking",
        "OpenClaw's thinking becomes `thinking` with the stage `openclaw`.",
        "execution.md#openclaw",
    ),
    Requirement(
        "004-4.6-end",
        "OpenClaw's done and error become `execution_complete` and `execution_error`.",
        "execution.md#openclaw",
    ),
    Requirement(
        "004-4.6-unknown-events",
        "An event of OpenClaw that is not in the table is left out.",
        "execution.md#openclaw",
    ),
)
