"""The pictures of one session: kept once each in its folder, by what they hold, and read again for
every call of a model. Messages have references, so that checkpoints stay small.
"""

import asyncio
import base64
import hashlib
import os
import re
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from trunkline import limits
from trunkline.execution.errors import PictureRefused
from trunkline.execution.files import write_atomic
from trunkline.execution.llm.base import Images, Message, Picture
from trunkline.execution.pictures import scaling
from trunkline.execution.pictures.copying import FOLDER
from trunkline.execution.process.programs import children
from trunkline.execution.texts import readable, shortened
from trunkline.execution.tools.base import Image

SCALING_S_MAX = 30.0
SESSION_BYTES_MAX = 256 * limits.MIB  # of all pictures of a session
CALL_PICTURES_MAX = 20  # of one call of a model, the newest; Anthropic takes more only if smaller
CALL_BYTES_MAX = 16 * limits.MIB  # of them together; base64 adds a third, and 32 MB is the limit
_LEFT_OUT_AT_ONCE = 10
"""Older ones are left out in steps: every step changes what a provider has in its cache."""

_NAME_CHARS_MAX = 100
_REFERENCE = re.compile(rf"{FOLDER}/[0-9a-f]{{64}}\Z")
_SCALED_AT_ONCE = 2


class _Scaled(msgspec.Struct, frozen=True, kw_only=True):
    """What the program says of a picture."""

    problem: str = ""
    media_type: str = ""
    width: int = 0
    height: int = 0


class Pictures:
    """`folder`: the session's. `env`: for the program that scales them."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self._folder = folder
        self._scaling = asyncio.Semaphore(_SCALED_AT_ONCE)
        self._env = {name: env[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in env}

    async def keep(self, image: Image) -> Picture:
        """Scales it to what providers take and keeps it. Raises PictureRefused."""
        if not 0 < len(image.data) <= limits.PICTURE_BYTES_MAX:
            raise PictureRefused(f"it has {len(image.data)} bytes, and the most are 20 MiB")
        async with self._scaling:
            said, content = await self._scaled(image.data)
        if said.problem:
            raise PictureRefused(said.problem)
        path = await asyncio.to_thread(self._save, content or image.data)
        picture = Picture(media_type=said.media_type, path=path)
        if name := shortened(readable(image.name), _NAME_CHARS_MAX):
            picture["name"] = name
        return picture

    async def load(self, messages: Sequence[Message]) -> Images:
        """What the newest pictures of a conversation hold, as base64; None for one that is gone."""
        wanted = [one["path"] for message in messages for one in message.get("pictures", ())]
        return await asyncio.to_thread(self._read, _newest(wanted)) if wanted else {}

    async def _scaled(self, data: bytes) -> tuple[_Scaled, bytes]:
        try:
            process = await children.start(
                sys.executable,
                "-I",
                scaling.__file__,
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                cwd=self._folder,
                env=self._env,
                start_new_session=True,
            )
        except OSError as error:
            raise PictureRefused(f"nothing here can read pictures: {error.strerror}") from error
        try:
            async with asyncio.timeout(SCALING_S_MAX):
                out, _ = await process.communicate(data)
        except TimeoutError:
            raise PictureRefused("it takes too long to be unpacked") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        line, _, content = out.partition(b"\n")
        try:
            return msgspec.json.decode(line, type=_Scaled), content
        except msgspec.DecodeError:
            how = f"the program that reads it ended with {process.returncode}"
            raise PictureRefused(f"it cannot be unpacked: {how}") from None

    def _save(self, data: bytes) -> str:
        folder = self._folder / FOLDER
        name = hashlib.sha256(data).hexdigest()
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            if not (folder / name).exists():
                kept = sum(one.stat().st_size for one in os.scandir(folder))
                if kept + len(data) > SESSION_BYTES_MAX:
                    raise PictureRefused("the session has too many pictures already")
                write_atomic(folder / name, data)
        except OSError as error:
            raise PictureRefused(error.strerror or type(error).__name__) from error
        return f"{FOLDER}/{name}"

    def _read(self, wanted: Sequence[str]) -> Images:
        """A reference comes out of a checkpoint, which may have come from outside."""
        found: Images = {}
        room = CALL_BYTES_MAX
        for path in reversed(wanted):
            if path in found:
                continue
            data = b""
            if _REFERENCE.match(path):
                try:
                    data = (self._folder / path).read_bytes()
                except OSError:
                    data = b""
            room -= len(data)
            if room < 0:
                break
            found[path] = base64.b64encode(data).decode() if data else None
        return found


def _newest(paths: Sequence[str]) -> Sequence[str]:
    over = len(paths) - CALL_PICTURES_MAX
    steps = -(-over // _LEFT_OUT_AT_ONCE) if over > 0 else 0
    return paths[steps * _LEFT_OUT_AT_ONCE :]
