"""Sentence vectors with `wordllama`, which carries its weights; nothing is ever downloaded.

Optional (extra `embeddings`): without it, or when it is damaged, `encode` gives None and memory
search is full text only. Loaded at first use, in a thread.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

    Vectors = NDArray[float32]

_log = structlog.get_logger()


@cache
def load_wordllama() -> Any:
    """The process's one model, from the package's own folder; raises when it is not installed."""
    import wordllama

    folder = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)


class Embeddings:
    """Texts to unit vectors of float32. `load` is a seam for what the model comes from."""

    def __init__(self, load: Callable[[], Any] = load_wordllama) -> None:
        self._load = load
        self._model: Any = None
        self._tried = False
        self._loading = asyncio.Lock()

    async def encode(self, texts: Sequence[str]) -> "Vectors | None":
        """One row a text, or None when there is no model."""
        model = await self._ready()
        if model is None:
            return None
        return await asyncio.to_thread(_encode, model, list(texts))

    async def _ready(self) -> Any:
        async with self._loading:
            if not self._tried:
                self._tried = True
                try:
                    self._model = await asyncio.to_thread(self._load)
                except Exception as error:  # a missing package, a missing file, a foreign format
                    _log.warning(
                        "memory search is full text only",
                        reason=f"{type(error).__name__}: {error}",
                        fix="pip install 'trunkline[embeddings]'",
                    )
        return self._model


def _encode(model: Any, texts: list[str]) -> "Vectors":
    import numpy

    vectors = numpy.asarray(model.embed(texts), dtype="<f4")
    lengths = numpy.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Vectors = vectors / numpy.maximum(lengths, 1e-9)
    return unit
