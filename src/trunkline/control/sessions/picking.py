"""Which machine a session is given that names none, and why, in words for whoever made it. Pure."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

from trunkline.control.errors import Conflict, TrunklineError, Unavailable

Code = Literal["named", "default", "only_online", "only_able", "fewest_sessions", "expected"]


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """The machine of a new session, and the `reason` why it is that one, in words. `code`, the same
    for programs: `named` by its creator; their `default`; the `only_online`, or the `only_able` of
    those; the one with the `fewest_sessions`; `expected` back, as none is online."""

    machine_id: str
    machine_name: str
    code: Code
    reason: str


class Candidate(NamedTuple):
    """A machine of the creator's that is online, or is expected back."""

    id: str
    name: str
    is_online: bool
    is_plane: bool = True
    """An execution plane, whose sessions are started from here: it can do the most."""
    sessions: int = 0
    problem: TrunklineError | None = None
    """Why it cannot run the session."""
    has_come: bool = True
    """It was connected once: what it can run is known."""


class Default(NamedTuple):
    """The machine that the creator has chosen for such sessions; without a name, it is gone."""

    id: str
    name: str | None


def named(machine_id: str, name: str) -> Placement:
    return Placement(machine_id=machine_id, machine_name=name, code="named", reason="it was named")


def pick(candidates: Sequence[Candidate], default: Default | None, runtime: str) -> Placement:
    """Raises why there is none. Of equal ones, the first. One that is away is waited for only where
    none is there at all, or where it is the default: else who asks is told at once."""
    able = [one for one in candidates if one.problem is None]
    online = [one for one in able if one.is_online]
    wanted = default.id if default is not None else None
    preferred = sorted(online, key=lambda one: (not one.is_plane, one.sessions)) or sorted(
        able, key=lambda one: not one.has_come
    )
    here = next((one for one in candidates if one.is_online and one.problem is not None), None)
    if able and not online and here is not None and wanted not in [one.id for one in able]:
        raise _away(here, next((one for one in able if one.has_come), None))
    if not preferred:
        problems = (one.problem for one in sorted(candidates, key=lambda one: not one.is_online))
        nothing = Unavailable("no machine of yours is online", code="NO_MACHINE")
        raise next(filter(None, problems), nothing)
    chosen = next((one for one in preferred if one.id == wanted), preferred[0])
    all_online = [one for one in candidates if one.is_online]
    if chosen.id == wanted and chosen.is_online:
        code, reason = _told("default", "it is your default machine")
    elif not chosen.is_online:
        none = "none that can run it is online" if all_online else "no machine of yours is online"
        code, reason = _told("expected", f"{none}, and this one is expected back")
    elif len(all_online) == 1:
        code, reason = _told("only_online", "it is the only one online")
    elif len(online) == 1:
        code, reason = _told("only_able", f"it is the only one online that can run {runtime}")
    else:
        least = f"it has the fewest sessions of the {len(online)} that are online"
        code, reason = _told("fewest_sessions", least)
    if default is not None and chosen.id != wanted:
        reason = f"{reason}; your default {_why_not(default, candidates)}"
    return Placement(machine_id=chosen.id, machine_name=chosen.name, code=code, reason=reason)


def _away(here: Candidate, away: Candidate | None) -> TrunklineError:
    """What speaks against the one that is there, and which one is worth waiting for."""
    assert here.problem is not None
    if away is None:
        return here.problem
    hint = f"your machine {away.name} is offline and can run it: name it to wait for it"
    return Conflict(f"{here.problem.message}; {hint}", code=here.problem.code)


def _told(code: Code, reason: str) -> tuple[Code, str]:
    return code, reason


def _why_not(default: Default, candidates: Sequence[Candidate]) -> str:
    if default.name is None:
        return "was given up"
    known = next((one for one in candidates if one.id == default.id), None)
    if known is None or not known.is_online:
        return f"{default.name} is offline"
    if known.problem is not None and known.problem.code == "MACHINE_DRAINING":
        return f"{default.name} is being drained"
    return f"{default.name} cannot run it"
