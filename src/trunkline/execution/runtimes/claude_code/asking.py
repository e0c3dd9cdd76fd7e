"""The questions of Claude Code's control protocol, and who answers them: a person, an MCP server of
the session, or nobody. What a yes covers is `permissions`.
"""

import json
from collections.abc import Callable

from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.claude_code import permissions, servers
from trunkline.execution.runtimes.claude_code.output import text_of
from trunkline.execution.runtimes.claude_code.permissions import Granted
from trunkline.execution.runtimes.hosted.turn import Turn
from trunkline.permissions.judging import told
from trunkline.permissions.modes import Confirm

HOOK = "before-each-tool"
_NOBODY = "Nobody is in the conversation at the moment who could allow it."
_EVERY = "This agent asks a person before each tool (confirm: always)."


class Asking:
    """`turn`: the one that runs, if any. `keep` saves what was granted."""

    def __init__(
        self,
        offered: servers.Servers,
        granted: Granted,
        turn: Callable[[], Turn | None],
        keep: Callable[[], None],
        confirm: Confirm,
    ) -> None:
        self._servers = offered
        self._granted = granted
        self._turn = turn
        self._keep = keep
        self.confirm = confirm
        """For what the program does by itself, in no turn."""

    async def answer(self, request: Json) -> Json:
        match request.get("subtype"):
            case "can_use_tool":
                return await self._may_use(request)
            case "hook_callback":
                return self._before_tool(request)
            case "mcp_message":
                return await self._servers.answer(request)
            case other:
                raise ValueError(f"{text_of(other)[:100]!r} is not answered here")

    def _before_tool(self, request: Json) -> Json:
        """Where every tool is asked for, also what the program would do without: and where a rule
        is for it."""
        turn, given = self._turn(), request.get("input")
        called = given if isinstance(given, dict) else {}
        tool, arguments = text_of(called.get("tool_name")), called.get("tool_input")
        is_known = isinstance(arguments, dict) and self._granted.covers(tool, arguments)
        ruled = None
        if turn is not None and isinstance(arguments, dict):
            ruled = turn.ruled(tool, arguments)
        if ruled is not None and ruled.effect == "deny":
            return _decision("deny", told(ruled))
        if ruled is not None and ruled.effect == "ask" and not is_known:
            return _decision("ask", told(ruled))
        confirm = self.confirm if turn is None else turn.asks
        if confirm != "always" or is_known:
            return {}
        return _decision("ask", _EVERY)

    async def _may_use(self, request: Json) -> Json:
        turn, tool = self._turn(), text_of(request.get("tool_name"))
        arguments = request.get("input")
        given = arguments if isinstance(arguments, dict) else {}
        if turn is None:
            return _no(_NOBODY)
        if tool == permissions.ASKING:
            return await self._ask(turn, request, given)
        if (ruled := turn.ruled(tool, given)) is not None and ruled.effect == "deny":
            return _no(told(ruled))
        reads = tool in servers.READS_ONLY and turn.asks != "always"
        if reads or self._granted.covers(tool, given):
            return _yes(given)
        said = await turn.permit(
            tool_name=tool,
            tool_input=given,
            tool_call_id=text_of(request.get("tool_use_id")),
            message=permissions.message(request),
        )
        if not said.allowed:
            return _no(said.reason)
        if said.scope == "once":
            return _yes(given)
        more = permissions.suggested(request)
        self._granted.add(tool, given, more)
        self._keep()
        return {**_yes(given), "updatedPermissions": more}

    async def _ask(self, turn: Turn, request: Json, given: Json) -> Json:
        answers: dict[str, str] = {}
        for question in permissions.questions(given):
            answer = await turn.ask(
                question.message,
                options=question.options,
                tool_name=permissions.ASKING,
                tool_call_id=text_of(request.get("tool_use_id")),
                multi_select=question.multi_select or None,
            )
            if not answer["confirmed"]:
                return _no(answer["answer"] or "The person did not answer.")
            answers[question.key] = _chosen(answer["answer"]) or "(confirmed without words)"
        return _yes({**given, "answers": answers})


def _decision(decision: str, reason: str) -> Json:
    said = {"permissionDecision": decision, "permissionDecisionReason": reason}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **said}}


def _yes(given: Json) -> Json:
    """What was shown is what will run."""
    return {"behavior": "allow", "updatedInput": given}


def _no(reason: str) -> Json:
    return {"behavior": "deny", "message": reason}


def _chosen(answer: str) -> str:
    """Several that were chosen may come as a list."""
    if answer.startswith("["):
        try:
            listed = json.loads(answer)
        except ValueError:
            return answer
        return ", ".join(str(one) for one in listed) if isinstance(listed, list) else answer
    return answer
