"""How a program's own conversation is gone on with in a terminal. Pure; both planes tell people."""

import re
import shlex

COMMANDS = {
    "claude-code": "claude --resume {id}",
    "codex": "codex resume {id}",
    "copilot": "copilot --resume={id}",
    "gemini": "gemini --resume {id}",
    "goose": "goose session --resume --session-id {id}",
    "opencode": "opencode --session {id}",
}
"""By the program: a runtime, or a preset of the runtime `acp`."""

CODEX_PROVIDER = "trunkline"
"""What a provider is called to Codex that is not its user's own: conversations keep that name."""
_CODEX_KEY = "OPENAI_API_KEY"
_ADDRESS = re.compile(r"https?://[A-Za-z0-9.:/_%\[\]-]{1,500}\Z")


def command(program: str, conversation_id: str, provider_url: str = "") -> str:
    """From the folder that the conversation is of; empty for a program that is not known. Codex
    opens it only with the provider that it began with, where that was not its user's own."""
    plain = COMMANDS.get(program, "").replace("{id}", shlex.quote(conversation_id))
    if program != "codex" or _ADDRESS.match(provider_url) is None:
        return plain
    about = codex_provider("openai", provider_url, _CODEX_KEY)
    fields = ",".join(f'{name}="{value}"' for name, value in about.items())
    settings = (
        f"model_provider={CODEX_PROVIDER}",
        f"model_providers.{CODEX_PROVIDER}={{{fields}}}",
    )
    flags = " ".join(f"-c {shlex.quote(one)}" for one in settings)
    return plain.replace("codex ", f"codex {flags} ", 1)


def codex_provider(name: str, url: str, env_key: str) -> dict[str, str]:
    """As Codex is told of it. `env_key`: the variable that has the key."""
    return {"name": name, "base_url": url, "env_key": env_key, "wire_api": "responses"}
