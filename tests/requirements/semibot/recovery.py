"""Document 000 §6 and §7: lines that break, and streams that readers come back to."""

from tests.requirements.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "000-6-vm-notices",
        "The VM notices that its line broke.",
        "semibot.md#reconnecting",
    ),
    Requirement(
        "000-6-back-off",
        "The VM tries again after 1, 2, 4, 8, 16, 30, 30, … seconds.",
        "semibot.md#reconnecting",
    ),
    Requirement(
        "000-6-reconnects-without-ticket",
        "A line that broke comes back with `user_id` and token alone.",
        "semibot.md#reconnecting",
    ),
    Requirement(
        "000-6-init-again",
        "A returning VM gets `init` again.",
        "semibot.md#reconnecting",
    ),
    Requirement(
        "000-6-resume-answers-what-finished",
        "A result that was ready while the line was down is in `resume_response`.",
        "semibot.md#reconnecting",
    ),
    Requirement(
        "000-6-not-found-is-sent-again",
        "A request that was `not_found` is served when the VM sends it again.",
        "semibot.md#reconnecting",
    ),
    Requirement(
        "000-6-pending-fails-after-all-retries",
        "If no retry succeeds, pending requests end with ConnectionError.",
        "semibot.md#reconnecting",
        divergence="after that the VM goes on trying every 30 s; the document's gives up",
    ),
    Requirement(
        "000-6-replan-after-failed-tools",
        "The graph's observe node handles failed tool calls by planning again.",
        "semibot.md#reconnecting",
    ),
    Requirement(
        "000-6-sessions-outlive-the-line",
        "Sessions run on while the line is down: after its return they are not started again.",
        "semibot.md#reconnecting",
    ),
    Requirement(
        "000-7-stream-address",
        "Readers follow `GET /api/v1/sessions/{session_id}/stream?last_event_id=0`.",
        "events.md#server-sent-events",
    ),
    Requirement(
        "000-7-one-stream-per-session",
        "Every session has a stream of its own.",
        "events.md#server-sent-events",
    ),
    Requirement(
        "000-7-ring-of-500",
        "The newest 500 events of a session can be replayed.",
        "events.md#server-sent-events",
    ),
    Requirement(
        "000-7-ids-grow",
        "Every event of a session gets the next id.",
        "events.md#server-sent-events",
    ),
    Requirement(
        "000-7-replay-after-last-event-id",
        "A reader that returns with `last_event_id` gets what came after it.",
        "events.md#server-sent-events",
    ),
    Requirement(
        "000-7-resync-after-overflow",
        "A position that is no longer held is answered with a `resync` event.",
        "events.md#server-sent-events",
    ),
    Requirement(
        "000-7-snapshot-after-resync",
        "After `resync` a reader can read the full state.",
        "events.md#server-sent-events",
    ),
    Requirement(
        "000-7-event-format",
        "An event is written as `id: …`, `data: …` and an empty line.",
        "events.md#server-sent-events",
    ),
    Requirement(
        "000-7-heartbeat-comment",
        "A quiet stream carries the comment `: heartbeat`.",
        "events.md#server-sent-events",
    ),
    Requirement(
        "000-7-resync-format",
        "A resync is written as `event: resync` and `data: {}`.",
        "events.md#server-sent-events",
    ),
    Requirement(
        "000-7-standard-event-types",
        "text_chunk, tool_call_start, tool_call_complete, skill_call_start, skill_call_complete,"
        " thinking, execution_complete and execution_error reach readers under these names.",
        "events.md#event-types",
    ),
    Requirement(
        "000-7-openclaw-events-translated",
        "OpenClaw's own events are translated to the standard types.",
        "execution.md#openclaw",
    ),
)
