"""What a token may be used for, where that is less than its user may do.

A token without scopes has all its user's rights. One with scopes has only these: a route says which
one it needs, and so does each thing that clients do to sessions, whichever wire they speak.
"""

from collections.abc import Iterable
from typing import Literal, get_args

from trunkline.control.errors import Forbidden

Scope = Literal["read", "talk", "approve", "admin"]
"""`read`: records and events. `talk`: sessions, their messages, memories. `approve`: answers to
questions, and (with `talk`) that less is asked. `admin`: everything else that changes something."""
SCOPES: tuple[Scope, ...] = get_args(Scope)

Scopes = frozenset[str] | None
"""None: all."""


def scopes_of(stored: Iterable[str] | None) -> Scopes:
    """As the record holds them."""
    return None if stored is None else frozenset(stored)


def require(scopes: Scopes, wanted: Scope) -> None:
    if scopes is not None and wanted not in scopes:
        raise Forbidden(f"this token has no scope {wanted!r}", code="SCOPE_MISSING")


def narrowed(own: Scopes, wanted: Scopes) -> Scopes:
    """The scopes of a token that a token makes: what was asked for, never more than its own."""
    if own is None or wanted is None:
        return wanted if own is None else own
    if not wanted <= own:
        missing = ", ".join(sorted(wanted - own))
        raise Forbidden(f"this token cannot give what it lacks: {missing}", code="SCOPE_MISSING")
    return wanted
