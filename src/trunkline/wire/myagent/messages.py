"""The names and messages of the MyAgent wire (docs/protocols/myagent.md). Fields that a client may
write in many ways are `Any` here and read by the module that needs them."""

from typing import Any, Final

import msgspec

Json = dict[str, Any]

CREATE_SESSION: Final = "user.create_session"
MESSAGE: Final = "user.message"
RESPONSE: Final = "user.response"
CANCEL: Final = "user.cancel"
RECONNECT: Final = "user.reconnect"
ACK: Final = "user.ack"
REQUEST_STATE: Final = "user.request_state"
RECONNECT_WITH_STATE: Final = "user.reconnect_with_state"
SOLVE_TASKS: Final = "user.solve_tasks"
CANCEL_TASK: Final = "user.cancel_task"
RESTART_TASK: Final = "user.restart_task"
CANCEL_PLAN: Final = "user.cancel_plan"
REPLAN: Final = "user.replan"

SESSION_CREATED: Final = "agent.session_created"
THINKING: Final = "agent.thinking"
TOOL_CALL: Final = "agent.tool_call"
TOOL_RESULT: Final = "agent.tool_result"
USER_CONFIRM: Final = "agent.user_confirm"
PARTIAL_ANSWER: Final = "agent.partial_answer"
FINAL_ANSWER: Final = "agent.final_answer"
LLM_MESSAGE: Final = "agent.llm_message"
ERROR: Final = "agent.error"
INTERRUPTED: Final = "agent.interrupted"
SESSION_END: Final = "agent.session_end"
STATE_EXPORTED: Final = "agent.state_exported"
STATE_RESTORED: Final = "agent.state_restored"

PLAN_START: Final = "plan.start"
PLAN_COMPLETED: Final = "plan.completed"
PLAN_STEP_COMPLETED: Final = "plan.step_completed"
PLAN_CANCELLED: Final = "plan.cancelled"
SOLVER_START: Final = "solver.start"
SOLVER_COMPLETED: Final = "solver.completed"
SOLVER_STEP_FAILED: Final = "solver.step_failed"
SOLVER_CANCELLED: Final = "solver.cancelled"
PIPELINE_COMPLETED: Final = "pipeline.completed"

CONNECTED: Final = "system.connected"
HEARTBEAT: Final = "system.heartbeat"
SYSTEM_ERROR: Final = "system.error"
NOTICE: Final = "system.notice"


class Uplink(msgspec.Struct):
    """A client's message. Only `event` is sure to be what it should be."""

    event: str
    session_id: Any = None
    step_id: Any = None
    content: Any = None
    metadata: Any = None
    signed_state: Any = None
    last_seq: Any = None
    last_event_id: Any = None


class Downlink(msgspec.Struct, omit_defaults=True):
    """A message to a client. `seq` and `event_id` are put on for each connection, and its id into
    the metadata: what stands behind the metadata here is not set before that."""

    event: str
    timestamp: str = ""
    session_id: str | None = None
    connection_id: str | None = None
    step_id: str | None = None
    content: Any = None
    show_content: str | None = None
    """What a person reads of it, where that is not the content."""
    metadata: Json | None = None
    seq: int | None = None
    event_id: str | None = None
