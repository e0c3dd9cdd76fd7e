"""How Claude Code is started for a session: its arguments and its environment. Pure.

The program is used as the machine's user has set it up: nothing of that is changed or copied, and
without a key it uses its own login. A key travels by a pipe, which commands that it runs do not
see. What is added here is for this process alone.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import msgspec

from trunkline import limits
from trunkline.execution.json_object import Json
from trunkline.execution.llm.routes import Routes
from trunkline.execution.orchestrator.settings import Settings
from trunkline.execution.process.environment import scrubbed
from trunkline.execution.session import ipc
from trunkline.permissions.modes import Mode

PERMISSION_MODES = ("default", "acceptEdits", "plan")
"""Those in which it asks for what it may not do by itself."""
OWN_LOGIN = ("ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_API_KEY")
"""How a user may log in by the environment; there only if the machine passes it on."""
KEY_PIPE = "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR"

_SPEAKS = (
    *("-p", "--input-format", "stream-json", "--output-format", "stream-json"),
    *("--verbose", "--include-partial-messages", "--permission-prompt-tool", "stdio"),
)
_QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    # It then says when it has nothing more to do: a turn may go on behind its `result`.
    "CLAUDE_CODE_SDK_READS_SESSION_STATE": "1",
}
# Set where this daemon was itself started by such a program: that one's session is none of ours.
_FOREIGN = re.compile(
    r"CLAUDECODE|CLAUDE_CODE_(?:ENTRYPOINT|SSE_PORT|SESSION_.*|CHILD_.*)|CLAUDE_PID"
)
_TOOL = re.compile(r"[A-Z][A-Za-z]*(?:\([^\x00]{0,1000}\))?|mcp__[\w-]{1,200}")


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """What the program is started with; a change of it needs a new start. Its model and its
    permission mode can be changed while it runs."""

    argv: tuple[str, ...]
    env: dict[str, str]
    key: str


def launch(
    program: Sequence[str],
    start: ipc.Start,
    settings: Settings,
    env: Mapping[str, str],
    *,
    servers: Sequence[str] = (),
    plugin: str = "",
) -> Launch:
    """`servers`: names of MCP servers that the driver offers it. `plugin`: a folder of skills."""
    argv = [*program, *_SPEAKS, "--max-turns", str(settings.max_turns)]
    if settings.system_prompt:
        # In one word: what begins with a dash is no option then.
        argv.append(f"--append-system-prompt={_bounded(settings.system_prompt)}")
    if servers:
        offered = {name: {"type": "sdk", "name": name} for name in servers}
        argv += ["--mcp-config", msgspec.json.encode({"mcpServers": offered}).decode()]
    if plugin:
        argv += ["--plugin-dir", plugin]
    if settings.tools:
        # Of names that it does not know none is left, and not all of them.
        argv.append(f"--tools={','.join(one for one in settings.tools if _TOOL.fullmatch(one))}")
    if refused := _tools(start.session_config.get("disallowedTools")):
        argv += ["--disallowedTools", ",".join(refused)]
    own = {
        name: value
        for name, value in scrubbed(env, keep=OWN_LOGIN, secrets=start.api_keys.values()).items()
        if not _FOREIGN.fullmatch(name)
    }
    key = start.api_keys.get("anthropic", "")
    if key:
        # Otherwise a login of the environment would be taken instead of the key that was given.
        own = {name: value for name, value in own.items() if name not in OWN_LOGIN}
    own |= _QUIET
    if url := Routes(start.api_keys, start.llm_config, env).base_url("anthropic"):
        own["ANTHROPIC_BASE_URL"] = url
    if settings.max_tokens is not None:
        own["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] = str(settings.max_tokens)
    if settings.thinking_tokens is not None:
        own["MAX_THINKING_TOKENS"] = str(settings.thinking_tokens)
    return Launch(argv=tuple(argv), env=own, key=key)


def model_of(settings: Settings) -> str:
    """The name as the program takes it; empty for its own choice."""
    return settings.model.strip().removeprefix("anthropic/")


def mode_of(config: Json) -> str:
    """The permission mode that a configuration names, if it is one that may be asked for. In the
    others of ours it asks, and is answered by `Turn.permit`."""
    named = config.get("permission_mode")
    return named if named in PERMISSION_MODES else "default" if named in get_args(Mode) else ""


def _tools(named: Any) -> list[str]:
    given = named[: limits.NAMES_MAX] if isinstance(named, list) else []
    return [one for one in given if isinstance(one, str) and _TOOL.fullmatch(one)]


def _bounded(text: str) -> str:
    """An argument has 128 KiB at most, and no NUL."""
    data = text.replace("\0", "").encode(errors="replace")[: 120 * 1024]
    return data.decode(errors="ignore")
