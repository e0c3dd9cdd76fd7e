"""What may be shown of a text: no secrets.

Used by the logs and wherever a text from outside becomes part of a message for people.
Pure functions; they know the forms of this project's secrets and of the common providers'.
"""

import re

_HIDDEN = "***"

_FORMS: tuple[tuple[re.Pattern[str], str], ...] = (
    # The secrets of ids.new_secret: bearer tokens (tl) and tickets (tk).
    (re.compile(r"\b(tl|tk)_[A-Za-z0-9_-]{8,}"), rf"\1_{_HIDDEN}"),
    # Devices' tokens (dev), secrets of agents (ya) and nodes (nd). Names may begin like that, and
    # are shorter.
    (re.compile(r"\b(dev|ya|nd)_[A-Za-z0-9_-]{20,}"), rf"\1_{_HIDDEN}"),
    # A JWT is recognised by its first part, the encoding of `{"`, even when the rest was cut off.
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,2}"), f"jwt_{_HIDDEN}"),
    (re.compile(r"\bsk-[A-Za-z0-9_-]{8,}"), f"sk-{_HIDDEN}"),
    (re.compile(r"(?i)\b(bearer)[ .]+[A-Za-z0-9._~+/-]{8,}=*"), rf"\1 {_HIDDEN}"),
    # Begins where a name begins: a search from each letter of a long text would never end.
    (
        re.compile(
            r"(?i)(?<![\w-])"
            r"([\w-]*(?:ticket|token|secret|password|api[_-]?key)|(?:[\w-]*[_-])?key)"
            r"(\"?'?\s*[=:]\s*\"?'?)[^\s&\"'#,;)}]+"
        ),
        rf"\1\2{_HIDDEN}",
    ),
    (re.compile(r"([?&]code=)[^\s&\"'#]+"), rf"\1{_HIDDEN}"),
    (re.compile(r"(--join[ =])\S+"), rf"\1{_HIDDEN}"),
    # The password of an address such as a database URL.
    (re.compile(r"(://[^\s/:@]*:)[^\s/@]+@"), rf"\1{_HIDDEN}@"),
)

_SECRET_NAMES = re.compile(
    r"(?i)(?:^|_)(token|ticket|secret|password|authorization|cookie|api_?key|credentials?)$"
)


# Behind an option, quoted or not, or the end of an option's own quotes; in a command, where a word
# behind `--token` is one. In other texts it may be any word.
_QUOTED = r"""(?:\\*"[^"]*"?|\\*'[^']*'?|[^\s"']+)"""
_OPTION = re.compile(
    r"""(?i)(?<![\w-])(--?[\w-]*(?:ticket|token|secret|password|passwd|cookie|api[_-]?key"""
    rf"""|credentials?|[_-]key)\\*["']?[\s=]+){_QUOTED}"""
)
_USER = r"(?<![\w-])((?:-u|--user)[\s=]+"
_LOGIN = re.compile(_USER + r"""[^\s:"'\\]+:)[^\s"'\\]+""")
_QUOTED_LOGIN = re.compile(_USER + r"""\\*["'][^"':]+:)[^"'\\]+""")
_HEADER = re.compile(r"""(?i)\b((?:proxy-)?authorization|cookie)(\s*[:=]\s*)(?=\S)[^"'\\\r\n]+""")


def redact_command(text: str) -> str:
    """What may be shown of a command line, or of a text in which there is one."""
    for form in (_OPTION, _LOGIN, _QUOTED_LOGIN):
        text = form.sub(rf"\1{_HIDDEN}", text)
    return redact(_HEADER.sub(rf"\1\2{_HIDDEN}", text))


def redact(text: str) -> str:
    """The text without the secrets that it carries."""
    for form, replacement in _FORMS:
        text = form.sub(replacement, text)
    return text


def is_secret_name(name: str) -> bool:
    """Whether a value of this name must not be shown at all."""
    return _SECRET_NAMES.search(name) is not None
