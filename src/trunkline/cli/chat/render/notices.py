"""What is said beside the conversation: of the machine, the plan, a turn's cost, a failure."""

from trunkline.cli.chat.render.layout import Line, indented, safe, safe_lines, wrap
from trunkline.cli.chat.render.values import (
    Data,
    count,
    mapping,
    mappings,
    number,
    text,
    word,
    words,
)
from trunkline.cli.human import count as rounded
from trunkline.cli.human import duration, money

_ADVICE = {
    "say it again: the session goes on from here": (
        "RUNTIME_CRASHED SESSION_START_FAILED SESSION_CRASHED SESSION_OUT_OF_MEMORY SESSION_HUNG "
        "SESSION_FAILED SESSION_STOPPED MODEL_OVERLOADED MODEL_UNREACHABLE MACHINE_RESTARTED "
        "SESSION_MOVED DELIVERY_UNKNOWN MACHINE_SILENT DEVICE_SILENT SESSION_START_TIMEOUT "
        "RESTORED"
    ),
    "wait a little, then say it again": (
        "SESSION_BUSY TURN_QUEUE_FULL MACHINE_BUSY MODEL_RATE_LIMITED MACHINE_OFFLINE"
    ),
    "say “go on”, or raise the agent's limit": "TURN_LIMIT TURN_TIMEOUT",
    "set a key (trunkline user set-key), or choose another model (/model)": (
        "MODEL_KEY_MISSING MODEL_KEY_REFUSED"
    ),
    "choose another model (/model)": "MODEL_NOT_FOUND",
    "say it in parts, or choose a model that reads more (/model)": "MODEL_CONTEXT_FULL",
    "make room on the machine's disk, then say it again": "DISK_FULL",
    "begin in another folder (--cwd), or allow this one there (trunkline node --root)": (
        "WORKSPACE_REFUSED"
    ),
    "close a session on this machine, then say it again": "SESSION_LIMIT",
    "choose another runtime, or install this one on the machine": (
        "RUNTIME_UNSUPPORTED RUNTIME_UNAVAILABLE"
    ),
    "log in on that machine, or set a key": "RUNTIME_LOGIN",
    "see what trunkline doctor says on that machine": "FENCE_REQUIRED",
    "mend what the error names, then say it again": "TOOLS_KEEP_FAILING",
    "a fault of ours: the machine's log says more; please report it": "TURN_FAILED INVALID_MESSAGE",
}
ADVICE = {code: said for said, codes in _ADVICE.items() for code in codes.split()}
_TASKS = {"completed": ("✓", "green", ""), "in_progress": ("▸", "yellow", "bold")}
_ENDS = {"turn_ended": "the turn ended", "timeout": "no answer in time", "cancelled": "cancelled"}


def failure(data: Data, width: int) -> list[Line]:
    """What went wrong, and what can be done about it."""
    said = text(data.get("error")) or text(data.get("message")) or text(data.get("content"))
    code = word(data.get("code"))
    lines = indented(_wrapped(said or "it failed", "red", width - 2), ("✗ ", "red"))
    if advice := ADVICE.get(code):
        lines += indented(wrap([(advice, "")], width - 2), ("→ ", "dim"))
    return lines + ([[("  ", ""), (safe(code), "dim")]] if code else [])


def compacted(data: Data, width: int) -> list[Line]:
    if data.get("how") == "nothing":
        return _note(f"nothing was shortened: {text(data.get('reason'))}", width)
    before, after = (
        rounded(count(data.get("before_tokens"))),
        rounded(count(data.get("after_tokens"))),
    )
    said = f"the conversation was shortened for the model: {before} → {after} tokens"
    return _note(said, width)


def status(data: Data, width: int) -> list[Line]:
    """What of the session's state is worth a line."""
    if lost := count(data.get("lost_events")):
        said = f"the machine lost {lost} events here; the final answer is complete"
        return _note(said, width, "yellow")
    message = text(data.get("message"))
    if is_lasting(data) and message:
        return _note(message, width, "yellow" if data.get("machine") == "gone" else "dim")
    if data.get("machine") == "gone":
        return _note("the machine is gone", width, "yellow")
    if data.get("held") is True:
        return _note("the machine is offline: the message waits until it is back", width, "yellow")
    if problems := words(data.get("problems")):
        return _note("\n".join(problems), width, "yellow")
    if data.get("machine") == "degraded":
        missing = ", ".join(words(data.get("degraded"))) or "nothing"
        said = f"the machine's line broke; until it is back, it does without: {missing}"
        return _note(said, width, "yellow")
    return []


def is_lasting(data: Data) -> bool:
    """Whether its words stand for good: who made the session, where it comes from."""
    is_told = "created_by" in data or data.get("imported") is True
    return data.get("machine") == "gone" or is_told


def asked(question: str, width: int) -> list[Line]:
    """A question, whole. No row of it begins where a line of ours would, also where it wraps."""
    first, *others = question.split("\n")
    lines = indented(wrap([(first, "yellow")], width - 2), ("? ", "bold yellow"))
    for line in others:
        said = line.lstrip(" ")
        bar = "| " if said.startswith("| ") else ""
        before = (" " * (len(line) - len(said)) + bar, "dim")
        rows = wrap([(said.removeprefix(bar), "")], width - len(before[0]))
        lines += indented(rows, before, before)
    return lines


def resolved(data: Data, width: int) -> list[Line]:
    """What became of a question."""
    reason = text(data.get("reason"))
    reason = _ENDS.get(reason, reason)
    if data.get("confirmed") is True:
        scope = word(data.get("scope"))
        lasts = {"session": " for this session", "always": " for always"}.get(scope, "")
        answer = text(data.get("answer"))
        return _note(f"✓ answered: {answer}" if answer else f"✓ allowed{lasts}", width, "green")
    return _note("✗ not allowed" + (f": {reason}" if reason else ""), width, "yellow")


class Plan:
    """The list as it was last shown; of a new one, what is new."""

    def __init__(self) -> None:
        self._shown: dict[str, str] = {}

    def lines(self, data: Data, width: int) -> list[Line]:
        plan = mapping(data.get("plan")) or data
        tasks = mappings(plan.get("tasks") or plan.get("steps"))
        if not tasks:
            said = text(plan.get("summary")) or word(data.get("content"))
            return _note(f"plan: {said}", width) if said else []
        titles = [text(one.get("title") or one.get("content")) for one in tasks]
        now = dict(zip(titles, (word(one.get("status")) for one in tasks), strict=True))
        before = self._shown if now.keys() == self._shown.keys() else {}
        new = {name: state for name, state in now.items() if before.get(name) != state}
        self._shown = now
        if not new:
            return []
        done = sum(state == "completed" for state in now.values())
        lines: list[Line] = [[("Plan", "bold"), (f" · {done} of {len(now)}", "dim")]]
        for name, state in new.items():
            mark, style, own = _TASKS.get(state, ("○", "dim", ""))
            lines += indented(_wrapped(name, own, width - 4), (f"  {mark} ", style))
        return lines


class Usage:
    """What a turn took; in a group, what all of them took."""

    def __init__(self) -> None:
        self._tokens_in = self._tokens_out = self._cached = 0
        self._cost: float | None = 0.0
        self._currency = ""
        self._models: dict[str, None] = {}

    def add(self, data: Data) -> None:
        models = mapping(data.get("models"))
        self._tokens_in += count(data.get("tokens_in"))
        self._tokens_out += count(data.get("tokens_out"))
        self._cached += sum(count(mapping(one).get("cache_read_tokens")) for one in models.values())
        self._models |= dict.fromkeys(map(str, models))
        cost = mapping(data.get("cost"))
        amount = number(cost.get("amount", data.get("cost_usd")))
        currency = word(cost.get("currency")) or "USD"
        # A sum is known only where each part is, in one currency.
        if amount is None or self._cost is None or self._currency not in ("", currency):
            self._cost = None
        else:
            self._cost, self._currency = self._cost + amount, currency

    def __bool__(self) -> bool:
        return bool(self._tokens_in or self._tokens_out)

    def facts(self, seconds: float | None) -> str:
        """3.2 s · 1.2k tokens in (800 cached), 340 out · $0.03"""
        facts = [duration(seconds)] if seconds is not None else []
        if self:
            cached = f" ({rounded(self._cached)} cached)" if self._cached else ""
            given, got = rounded(self._tokens_in), rounded(self._tokens_out)
            facts.append(f"{given} tokens in{cached}, {got} out")
        if self._cost:
            facts.append(money(self._cost, safe(self._currency)))
        if len(self._models) > 1:
            facts.append(", ".join(map(safe, self._models)))
        return " · ".join(facts)


def _note(said: str, width: int, style: str = "dim") -> list[Line]:
    return _wrapped(said, style, width)


def _wrapped(said: str, style: str, width: int) -> list[Line]:
    return wrap([(safe_lines(said.strip()), style)], width)
