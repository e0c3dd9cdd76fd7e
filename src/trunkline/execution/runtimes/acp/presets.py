"""Which program an ACP session runs, and with what: the presets, and commands of people's own.

Keys and addresses travel in the program's environment, under the names that it knows, and nowhere
else; without a key it runs as it is, with its user's own login and configuration.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from trunkline import limits
from trunkline.execution.errors import ModelError, TurnError
from trunkline.execution.home import Home
from trunkline.execution.json_object import Json
from trunkline.execution.llm.routes import Routes
from trunkline.execution.runtimes import driven, programs
from trunkline.execution.runtimes.catalog import install_command
from trunkline.names import ACP_PRESETS
from trunkline.permissions.modes import Confirm
from trunkline.wire import resuming

_Word = Annotated[str, Meta(max_length=limits.FILE_PATH_CHARS_MAX, pattern=r"\A[^\0]*\Z")]
_Variable = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"\A[^=\0]+\Z")]
_ENV_MAX = 100


class AcpConfig(msgspec.Struct, frozen=True, kw_only=True):
    """`acp` of an agent's configuration: a preset, or a command."""

    preset: Annotated[str, Meta(max_length=limits.NAME_CHARS_MAX)] = ""
    command: Annotated[list[_Word], Meta(max_length=limits.MCP_ARGS_MAX)] = []
    env: Annotated[dict[_Variable, _Word], Meta(max_length=_ENV_MAX)] = {}


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """A model and the way to it. `api`: `openai` or `anthropic`."""

    provider: str
    api: str
    model: str
    key: str
    base_url: str


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a program is to be started with."""

    access: Access | None
    confirm: Confirm
    gemini: Access | None = None


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """How a program is started. `name`: for people, and to know whose session it was."""

    name: str
    argv: tuple[str, ...]
    env: dict[str, str]
    model: str = ""
    """What it is started with, if that is given; else a model is chosen when the program runs."""
    locks: bool = False
    """Whether nobody in a terminal can open its conversation while it runs."""
    provider_url: str = ""
    """Of the provider that its conversations then belong to; empty where it is the user's own."""


class Added(msgspec.Struct, frozen=True, kw_only=True):
    """Further arguments and variables, and the model that they name."""

    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    model: str = ""
    provider_url: str = ""


class Preset(msgspec.Struct, frozen=True, kw_only=True):
    args: tuple[str, ...]
    adds: Callable[[Wanted], Added]
    drives_by: str = ""
    """The variable that tells an adapter which program it drives."""
    keeps_provider: bool = False
    """Whether it goes on with a conversation only with the provider that it began with."""
    locks: bool = False
    """Whether nobody else can open a conversation while it runs."""


def read_config(given: Any) -> AcpConfig:
    """Raises TurnError."""
    try:
        config = msgspec.convert(given if given is not None else {}, AcpConfig)
    except msgspec.ValidationError as error:
        raise _unusable(f"`acp` of the agent's configuration: {error}") from error
    if config.command and config.command[0]:
        return config
    if config.preset in PRESETS:
        return config
    names = ", ".join(ACP_PRESETS)
    if config.preset:
        raise _unusable(f"there is no ACP preset {config.preset!r}; there are: {names}")
    raise _unusable(
        f'the agent\'s configuration names no program: {{"acp": {{"preset": …}}}} ({names}) or '
        '{"acp": {"command": [program, …]}}'
    )


def launch(config: AcpConfig, wanted: Wanted, home: Home, env: Mapping[str, str]) -> Launch:
    """Raises TurnError (`RUNTIME_UNAVAILABLE`)."""
    given = {**env, **config.env}
    if config.command:
        usual = {**env, **_usual_names(wanted), **config.env}
        name = Path(config.command[0]).name or config.command[0]
        return Launch(name=name, argv=tuple(config.command), env=usual)
    preset = PRESETS[config.preset]
    found = programs.locate(config.preset, home, given)
    if not found:
        command = install_command(config.preset, home.root)
        absent = "is not installed on this machine"
        if own := driven.find_own(config.preset, given):
            absent = f"is here ({own}), but not the adapter by which it is driven"
        raise _unusable(f"{config.preset} {absent}; install it: {command}")
    added = preset.adds(wanted)
    program = driven.locate(config.preset, home, given)
    leads = {preset.drives_by: program} if program else {}
    return Launch(
        name=config.preset,
        argv=(*found, *preset.args, *added.args),
        env={**env, **leads, **added.env, **config.env},
        model=added.model,
        locks=preset.locks,
        provider_url=added.provider_url,
    )


def keeps_own_login(config: AcpConfig, saved: Json) -> bool:
    """Whether a conversation, by what is saved of it, belongs to the user's own provider, and our
    key would not open it: one that began in a terminal, or without a key."""
    if config.command or not PRESETS[config.preset].keeps_provider:
        return False
    if saved.get("program") != config.preset:
        return False
    url = saved.get("provider_url")
    return not url if isinstance(url, str) else "usage" not in saved


def resume(launch: Launch, session_id: str, folder: Path) -> Json:
    """The agent's own name of the session, and how to go on with it in a terminal."""
    told: Json = {"session_id": session_id, "folder": str(folder)}
    if launch.name in PRESETS:
        told["command"] = resuming.command(launch.name, session_id, launch.provider_url)
    return told


def wanted_of(
    model: str,
    confirm: Confirm,
    api_keys: Mapping[str, str],
    llm_config: Json,
    env: Mapping[str, str],
) -> Wanted:
    """What the machine has keys or addresses for; the program's own login where it has none."""
    routes = Routes(api_keys, llm_config, env)
    access = None
    try:
        route = routes.find(model or routes.default_model())
    except ModelError:
        route = None
    if route is not None and route.api in ("openai", "anthropic"):
        key = api_keys.get(route.provider, "")
        if key or route.base_url:
            access = Access(
                provider=route.provider,
                api=route.api,
                model=route.model,
                key=key or "none",
                base_url=route.base_url,
            )
    return Wanted(access=access, confirm=confirm, gemini=_gemini_access(model, api_keys, routes))


def _gemini_access(model: str, api_keys: Mapping[str, str], routes: Routes) -> Access | None:
    for provider in ("gemini", "google"):
        if key := api_keys.get(provider):
            url = routes.base_url(provider)
            wanted = model.removeprefix(f"{provider}/")
            return Access(provider=provider, api="gemini", model=wanted, key=key, base_url=url)
    return None


def _unusable(why: str) -> TurnError:
    return TurnError("RUNTIME_UNAVAILABLE", why)


def _opencode(wanted: Wanted) -> Added:
    """With an address of its own the provider has a name of ours: opencode speaks another format
    with those that it knows."""
    env = {"OPENCODE_DISABLE_AUTOUPDATE": "1"}
    if wanted.confirm != "never":
        ask = {"edit": "ask", "bash": "ask", "webfetch": "ask"}
        env["OPENCODE_PERMISSION"] = _json({"*": "ask"} if wanted.confirm == "always" else ask)
    if (access := wanted.access) is None:
        return Added(env=env)
    provider: Json = {"options": {"apiKey": f"{{env:{_KEY}}}"}}
    name = access.provider
    if access.base_url:
        name = f"trunkline-{access.provider}"
        known = {"attachment": True, "modalities": {"input": ["text", "image"], "output": ["text"]}}
        is_anthropic = access.api == "anthropic"
        provider["npm"] = "@ai-sdk/anthropic" if is_anthropic else "@ai-sdk/openai-compatible"
        provider["options"]["baseURL"] = access.base_url + ("/v1" if is_anthropic else "")
        provider["models"] = {access.model: known}
        env["OPENCODE_DISABLE_MODELS_FETCH"] = "1"  # its list of models is of no use then
    model = f"{name}/{access.model}"
    content = {"provider": {name: provider}, "model": model, "small_model": model}
    env |= {_KEY: access.key, "OPENCODE_CONFIG_CONTENT": _json(content)}
    return Added(env=env, model=model)


def _copilot(wanted: Wanted) -> Added:
    # Its user may have allowed everything, for work in a terminal.
    asks = {} if wanted.confirm == "never" else {"COPILOT_ALLOW_ALL": "false"}
    if (access := wanted.access) is None:
        return Added(env=asks)
    env = {
        **asks,
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_TYPE": access.api,
        "COPILOT_PROVIDER_BASE_URL": access.base_url or _OFFICIAL[access.api],
        "COPILOT_PROVIDER_API_KEY": access.key,
        "COPILOT_MODEL": access.model,
    }
    return Added(env=env, model=access.model)


def _gemini(wanted: Wanted) -> Added:
    args = () if wanted.confirm == "never" else ("--approval-mode=default",)
    if (access := wanted.gemini) is None:
        return Added(args=args)
    env = {"GEMINI_API_KEY": access.key}
    if access.base_url:
        env["GOOGLE_GEMINI_BASE_URL"] = access.base_url
    if access.model:
        env["GEMINI_MODEL"] = access.model
    return Added(args=args, env=env, model=access.model)


def _codex(wanted: Wanted) -> Added:
    """A provider of its own by its configuration: its login by key would write the key to the disk.
    Left alone, the adapter has another model judge what Codex wants to do."""
    mode = "workspace-write" if wanted.confirm == "never" else "read-only"
    env = {"INITIAL_AGENT_MODE": mode, "NO_BROWSER": "1"}
    if (access := wanted.access) is None or access.api != "openai":
        return Added(env=env)
    url = access.base_url or _OFFICIAL["openai"]
    provider = resuming.codex_provider(access.provider, url, _KEY)
    told: Json = {
        "model_provider": resuming.CODEX_PROVIDER,
        "model_providers": {resuming.CODEX_PROVIDER: provider},
        "model": access.model,
        # It would keep a copy of its environment on the disk, with the key.
        "features": {"shell_snapshot": False},
    }
    env |= {_KEY: access.key, "CODEX_CONFIG": _json(told)}
    env["MODEL_PROVIDER"] = resuming.CODEX_PROVIDER
    return Added(env=env, model=access.model, provider_url=url)


def _goose(wanted: Wanted) -> Added:
    """By itself it asks nobody."""
    modes = {"dangerous": "smart_approve", "always": "approve"}
    asks = {"GOOSE_MODE": modes[wanted.confirm]} if wanted.confirm in modes else {}
    if (access := wanted.access) is None:
        return Added(env=asks)
    prefix = access.api.upper()
    env = {**asks, "GOOSE_PROVIDER": access.api, "GOOSE_MODEL": access.model}
    env[f"{prefix}_API_KEY"] = access.key
    if access.base_url:
        env[f"{prefix}_HOST"] = access.base_url.removesuffix("/v1")
    return Added(env=env, model=access.model)


def _usual_names(wanted: Wanted) -> dict[str, str]:
    """For a command of somebody's own: the names that most programs know."""
    env: dict[str, str] = {}
    if (access := wanted.access) is not None:
        prefix = access.api.upper()
        env[f"{prefix}_API_KEY"] = access.key
        if access.base_url:
            env[f"{prefix}_BASE_URL"] = access.base_url
    return {**env, **_gemini(wanted).env}


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


# Under a name that no program knows: it goes nowhere but to the address that it was given for.
_KEY = "ACP_MODEL_KEY"
_OFFICIAL = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
PRESETS: dict[str, Preset] = {
    "copilot": Preset(
        args=("--acp",),
        adds=_copilot,
    ),
    "opencode": Preset(
        args=("acp",),
        adds=_opencode,
    ),
    "gemini": Preset(
        args=("--experimental-acp",),
        adds=_gemini,
    ),
    "codex": Preset(
        args=(),
        adds=_codex,
        drives_by="CODEX_PATH",
        keeps_provider=True,
        locks=True,
    ),
    "goose": Preset(
        args=("acp",),
        adds=_goose,
    ),
}
