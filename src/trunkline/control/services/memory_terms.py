"""Search terms of a query, for English and for scripts that put no spaces between words.

A run of Chinese, Japanese or Korean characters becomes its overlapping pairs: most Chinese words
have two characters, so a pair that both texts share is usually a word that they share.
"""

import re
import unicodedata

import msgspec

from trunkline import limits

_WORD = re.compile(r"[^\W_]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]+")
_TRIGRAM_CHARS = 3  # SQLite's trigram index finds nothing shorter
# Words that say nothing about a text.
_COMMON = re.compile(
    r"(an?|and|are|as|at|be|by|did|do|does|for|from|had|has|have|he|her|his|how|i|in|is|its?|me|my"
    r"|not|of|on|or|our|she|so|that|the|their|them|they|this|to|us|was|we|were|what|when|where"
    r"|which|who|why|will|with|you|your|[的了是在我你他她它们吗呢吧和与有也就都不])\Z"
)


class Terms(msgspec.Struct, frozen=True):
    """`words` are whole words and runs; `parts` have to be looked for inside the text."""

    words: list[str]
    parts: list[str]

    @property
    def long(self) -> list[str]:
        """What a trigram index can find."""
        return [term for term in self.words if len(term) >= _TRIGRAM_CHARS]

    @property
    def short(self) -> list[str]:
        """What only a scan can find where there is a trigram index."""
        return [term for term in self.parts if len(term) < _TRIGRAM_CHARS]


def terms_of(query: str) -> Terms:
    words: dict[str, None] = {}
    parts: dict[str, None] = {}
    for word in _WORD.findall(unicodedata.normalize("NFKC", query).lower()):
        rest = _CJK.sub(" ", word).split()
        for piece in rest:
            if len(piece) > 1 and not _COMMON.match(piece):
                words[piece] = parts[piece] = None
        for run in _CJK.findall(word):
            if len(run) == 1 and not _COMMON.match(run):
                words[run] = parts[run] = None
            if len(run) > 1:
                words[run] = None
                words.update(dict.fromkeys(_windows(run, _TRIGRAM_CHARS)))
                parts.update(dict.fromkeys(_windows(run, 2)))
    return Terms(list(words)[: limits.MEMORY_TERMS_MAX], list(parts)[: limits.MEMORY_TERMS_MAX])


def fts5_query(terms: list[str]) -> str:
    """Any of the terms, each as an FTS5 string: nothing inside one is an operator."""
    return " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)


def _windows(run: str, size: int) -> list[str]:
    return [run[i : i + size] for i in range(len(run) - size + 1)]
