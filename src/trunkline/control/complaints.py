"""What msgspec says of a value that does not fit, in words for whoever sent it. Pure."""

import re
from collections.abc import Callable

_PLACE = re.compile(r"(?P<what>.*) - at `\$(?P<path>[^`]*)`", re.DOTALL)
_KINDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
}
_UNITS = {"str": ("character", "characters"), "array": ("entry", "entries")}
_COMPARED = {">=": "{} or more", "<=": "{} or less", ">": "more than {}", "<": "less than {}"}


def parted(said: str) -> tuple[str, str]:
    """What is wrong, and the path of where: `agents[0].name`, empty for the whole."""
    found = _PLACE.fullmatch(said)
    return (found["what"], found["path"].removeprefix(".")) if found else (said, "")


def placed(path: str, what: str) -> str:
    return f"{path}: {what}" if path else what


def in_words(said: str) -> str:
    """As msgspec has said it, where that is of a kind that is not known here."""
    what, path = parted(said)
    for form, words in _FORMS:
        if found := form.fullmatch(what):
            return placed(path, words(found))
    return placed(path, what)


def _length(found: re.Match[str]) -> str:
    one, many = _UNITS.get(found["kind"], ("entry", "entries"))
    number = int(found["number"])
    if found["sign"] == ">=" and number == 1:
        return "must not be empty"
    unit = one if number == 1 else many
    return f"{'needs at least' if found['sign'] == '>=' else 'may have at most'} {number:,} {unit}"


def _bound(found: re.Match[str]) -> str:
    number = found["number"].removesuffix(".0")
    return f"must be {_COMPARED[found['sign']].format(number)}"


def _other_kind(found: re.Match[str]) -> str:
    return f"must be {_kinds(found['wanted'])}, not {_kinds(found['got'])}"


def _form(found: re.Match[str]) -> str:
    """Of the forms that people meet, in words; of others the expression itself."""
    form = found["form"].replace("\\\\", "\\")
    if form == r"\S":
        return "must not be blank"
    if form.startswith("^https?://"):
        return "must be an address that begins with http:// or https://"
    return f"must be of the form {form}"


def _missing(found: re.Match[str]) -> str:
    return f"'{found['name']}' is missing"


def _kinds(said: str) -> str:
    return " or ".join(_KINDS.get(one, one) for one in said.split(" | "))


_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"Expected `(?P<kind>\w+)` of length (?P<sign>[<>]=) (?P<number>\d+)"), _length),
    (re.compile(r"Expected `(?:int|float)` (?P<sign>[<>]=?) (?P<number>[-\d.e+]+)"), _bound),
    (re.compile(r"Expected `(?P<wanted>[^`]+)`, got `(?P<got>[^`]+)`"), _other_kind),
    (re.compile(r"Expected `str` matching regex '(?P<form>.+)'"), _form),
    (re.compile(r"Object missing required field `(?P<name>[^`]+)`"), _missing),
)
