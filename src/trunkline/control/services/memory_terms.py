"""What a text is indexed and searched by, the same for every database.

Words in lower case, which the database's index brings to their stems; and of scripts that put no
spaces between words, every character and every pair, as most Chinese words have two.
"""

import re
import unicodedata
from collections.abc import Iterator

_WORD = re.compile(r"[^\W_]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]+")
# Words that say nothing about a text.
_COMMON_WORDS = (
    r"an?|and|are|as|at|be|by|can|could|did|do|does|for|from|had|has|have|he|her|him|his|how|i|if"
    r"|in|is|its?|may|me|must|my|not|of|on|or|our|she|should|so|that|the|their|them|there|they"
    r"|this|to|us|user|was|we|were|what|when|where|which|who|why|will|with|would|you|your"
)
_COMMON = re.compile(
    rf"({_COMMON_WORDS}|[的了是在我你他她它们吗呢吧和与有也就都不什么怎样哪谁]+)\Z"
)
_SAYS_NOTHING = re.compile(
    rf"\b({_COMMON_WORDS})\b|什么样|什么时候|为什么|什么|怎么样|怎么办|怎么|怎样|哪里|哪儿|哪个|哪家"
    "|哪天|哪种|哪些|哪|多少|几点|是谁|谁|能不能|要不要|行不行|可以|应该|用户|[吗呢的了我你他她它们是在有]",
    re.IGNORECASE,
)
_TERMS_MAX = 64  # taken from one query
PREFIX_CHARS_MIN = 4
"""A shorter word is looked for as it is: too many begin with it."""


def indexed(content: str) -> str:
    """The terms of a memory, as the index takes them."""
    return " ".join(_terms(content))


def asked(query: str) -> list[str]:
    """The terms of a query, each once, without those that say nothing."""
    found = dict.fromkeys(term for term in _terms(query) if not _COMMON.match(term))
    return list(found)[:_TERMS_MAX]


def is_beginning(term: str) -> bool:
    """Whether longer words that begin with it are meant too."""
    return len(term) >= PREFIX_CHARS_MIN and not _CJK.match(term)


def telling(text: str) -> str:
    """Without words that say nothing; all of it where it has no others."""
    return " ".join(_SAYS_NOTHING.sub(" ", text).split()) or text


def has_words(query: str) -> bool:
    return _WORD.search(query) is not None


def has_cjk(query: str) -> bool:
    """Whether some of it is in a script without spaces between words."""
    return _CJK.search(unicodedata.normalize("NFKC", query)) is not None


def _terms(text: str) -> Iterator[str]:
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).lower()):
        yield from _CJK.sub(" ", word).split()
        for run in _CJK.findall(word):
            yield from run
            yield from (run[at : at + 2] for at in range(len(run) - 1))
