"""Files for people beside the turn: what was said, in `conversation.md`.

Nodes and turns call this. The checkpoint is what a session goes on from; these are a convenience,
and a full disk does not end a turn because of them.
"""

from collections.abc import Awaitable

import structlog

from trunkline.execution.orchestrator.context import Context

_log = structlog.get_logger(__name__)

QUESTION = 0
"""The person's message among the parts of a turn; the text of model call n is part n."""


async def note_said(context: Context, role: str, text: str, part: int) -> None:
    """Writes a part of the session's own conversation, once: whoever ends a turn half-way cannot
    know how far it came."""
    if context.depth or not text.strip() or part in context.turn.noted:
        return
    context.turn.noted.add(part)
    await noted(context, context.memory.save_message(role, text))


async def noted(context: Context, saving: Awaitable[None]) -> None:
    """Waits for something to be saved, and goes on without it where that fails."""
    try:
        await saving
    except (OSError, ValueError) as error:
        _log.warning("memory not written", session_id=context.session_id, reason=str(error))
