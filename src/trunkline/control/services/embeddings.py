"""What a text means, as a vector: by the built-in model, or by a server that the operator names.

The built-in one is `wordllama`, which carries its weights (extra `embeddings`); nothing is ever
downloaded, and it is loaded at first use, in a thread. A server speaks OpenAI's `/embeddings`. A
vector is float32, little endian, of length one; a text that says nothing has one of zeros.
"""

import asyncio
import hashlib
import importlib.util
import math
import sys
from array import array
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Protocol

import msgspec
from msgspec import Meta

from trunkline import extras, limits
from trunkline.control.redaction import redact
from trunkline.control.services import memory_terms
from trunkline.control.settings import Settings

Vector = bytes

DIMENSION_MAX = 8_192
BUILT_IN = "wordllama l2_supercat, telling words"
_BUILT_IN_DIMENSION = 256
_INPUT_CHARS_MAX = 8_000  # of one text; what follows says little more about it
_ANSWER_BYTES_MAX = 64 * limits.MIB
_BATCH_TIMEOUT_S = 60.0
_QUERY_TIMEOUT_S = 1.5  # a turn waits two seconds for its memories
_SAID_CHARS = 200
# Of a text that is too long llama.cpp says 500; whether it takes others is tried then.
_REFUSED = (400, 413, 422, 500)


class NoEmbeddings(Exception):
    """There are no vectors now; says why. `is_refused`: the server does not want this text."""

    def __init__(self, reason: str, *, is_refused: bool = False) -> None:
        super().__init__(reason)
        self.is_refused = is_refused


class Model(msgspec.Struct, frozen=True):
    """What makes vectors that can be compared with each other."""

    name: str
    dimension: int

    @property
    def fingerprint(self) -> str:
        """Short, and part of a table's name."""
        return hashlib.sha256(f"{self.name} {self.dimension}".encode()).hexdigest()[:16]


class Embeddings(Protocol):
    batch_max: int
    """Texts that are given at once."""

    async def model(self) -> Model:
        """Raises NoEmbeddings where there is none, or none now."""
        ...

    async def encode(self, texts: Sequence[str], *, is_query: bool = False) -> list[Vector]:
        """One for each text, in order; raises NoEmbeddings."""
        ...

    async def close(self) -> None: ...


def embeddings_of(settings: Settings) -> Embeddings:
    """The server's where one is set, else the built-in ones."""
    if settings.embeddings_url is None:
        return BuiltIn()
    assert settings.embeddings_model is not None  # settings are refused without it
    return Server(settings.embeddings_url, settings.embeddings_model, settings.embeddings_key)


@cache
def load_wordllama() -> Any:
    """The process's one model, from the package's own folder; raises when it is not installed."""
    import wordllama

    folder = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)


class BuiltIn:
    """`load` is a seam for what the model comes from."""

    batch_max = 256

    def __init__(self, load: Callable[[], Any] = load_wordllama) -> None:
        self._load = load
        self._loaded: Any = None
        self._problem: str | None = None
        self._loading = asyncio.Lock()

    async def model(self) -> Model:
        # Known without loading: a server without memories needs no weights.
        if self._load is load_wordllama and importlib.util.find_spec("wordllama") is None:
            raise NoEmbeddings(f"wordllama is not installed: {extras.fix('embeddings')}")
        if self._problem:
            raise NoEmbeddings(self._problem)
        return Model(BUILT_IN, _BUILT_IN_DIMENSION)

    async def encode(self, texts: Sequence[str], *, is_query: bool = False) -> list[Vector]:
        async with self._loading:
            if self._loaded is None and self._problem is None:
                try:
                    self._loaded = await asyncio.to_thread(self._load)
                except Exception as error:  # a missing file, a foreign format
                    self._problem = f"wordllama cannot be loaded: {type(error).__name__}: {error}"
        if self._problem is not None:
            raise NoEmbeddings(self._problem)
        # It takes the mean of words: those that say nothing would only blur it.
        said = [memory_terms.telling(text[:_INPUT_CHARS_MAX]) for text in texts]
        return await asyncio.to_thread(_encoded, self._loaded, said)

    async def close(self) -> None:
        pass


def _encoded(model: Any, texts: list[str]) -> list[Vector]:
    import numpy

    vectors = numpy.asarray(model.embed(texts), dtype="<f4")
    lengths = numpy.linalg.norm(vectors, axis=1, keepdims=True)
    return [one.tobytes() for one in vectors / numpy.maximum(lengths, 1e-9)]


class _One(msgspec.Struct):
    embedding: Annotated[list[float], Meta(min_length=1, max_length=DIMENSION_MAX)]
    index: int | None = None


class _Answer(msgspec.Struct):
    """Comes from outside."""

    data: list[_One]


class Server:
    """An OpenAI-compatible server: `url` is what comes before `/embeddings`."""

    batch_max = 64

    def __init__(self, url: str, model: str, key: str | None = None) -> None:
        import httpx2  # where no server is named, it need not be loaded

        self._url = url.rstrip("/") + "/embeddings"
        self._name = model
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx2.AsyncClient(headers=headers, timeout=_BATCH_TIMEOUT_S)
        self._model: Model | None = None

    async def model(self) -> Model:
        """Its dimension is learned from its first answer."""
        if self._model is None:
            (first,) = await self._asked(["dimension"], _BATCH_TIMEOUT_S)
            name = f"{self._name} of {self._url}"
            self._model = Model(name, len(first))
        return self._model

    async def encode(self, texts: Sequence[str], *, is_query: bool = False) -> list[Vector]:
        timeout_s = _QUERY_TIMEOUT_S if is_query else _BATCH_TIMEOUT_S
        try:
            async with asyncio.timeout(timeout_s):
                model = await self.model()
                found = await self._asked([one[:_INPUT_CHARS_MAX] for one in texts], timeout_s)
        except TimeoutError as error:
            raise NoEmbeddings(f"{self._url} has not answered in {timeout_s:g} s") from error
        if any(len(one) != model.dimension for one in found):
            raise NoEmbeddings(f"{self._url} gave vectors of another length than before")
        return [_unit(one) for one in found]

    async def close(self) -> None:
        await self._client.aclose()

    async def _asked(self, texts: list[str], timeout_s: float) -> list[list[float]]:
        import httpx2

        asked = {"model": self._name, "input": texts}
        try:
            async with self._client.stream(
                "POST", self._url, json=asked, timeout=timeout_s
            ) as answer:
                body = bytearray()
                async for piece in answer.aiter_bytes():
                    body += piece
                    if len(body) > _ANSWER_BYTES_MAX:
                        raise NoEmbeddings(f"{self._url} answered with more than 64 MiB")
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise NoEmbeddings(
                f"{self._url}: {redact(str(error)) or type(error).__name__}"
            ) from error
        if answer.status_code != 200:
            said = redact(bytes(body[:_SAID_CHARS]).decode(errors="replace"))
            raise NoEmbeddings(
                f"{self._url} answered {answer.status_code}: {said}",
                is_refused=answer.status_code in _REFUSED,
            )
        return _read(bytes(body), len(texts), self._url)


def _read(body: bytes, count: int, url: str) -> list[list[float]]:
    try:
        data = msgspec.json.decode(body, type=_Answer).data
    except (msgspec.DecodeError, RecursionError) as error:
        raise NoEmbeddings(
            f"{url} answered with something else than embeddings: {error}"
        ) from error
    if all(one.index is not None for one in data):
        data.sort(key=lambda one: one.index or 0)
    if len(data) != count:
        raise NoEmbeddings(f"{url} gave {len(data)} vectors for {count} texts")
    if not all(math.isfinite(number) for one in data for number in one.embedding):
        raise NoEmbeddings(f"{url} gave a vector that is no vector")
    return [one.embedding for one in data]


def _unit(numbers: list[float]) -> Vector:
    length = math.hypot(*numbers)
    vector = array("f", (number / length for number in numbers) if length else numbers)
    if sys.byteorder == "big":
        vector.byteswap()
    return vector.tobytes()


def is_nothing(vector: Vector) -> bool:
    """Of a text that says nothing: it is like no other."""
    return not any(vector)
