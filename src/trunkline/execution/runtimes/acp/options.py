"""The modes and models that an ACP agent offers, and how it is told to take another.

There are three generations of saying so: `configOptions`, and before them `modes` and `models`.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from trunkline import limits
from trunkline.execution.json_object import Json
from trunkline.execution.runtimes.acp.content import items, name_of, obj, text

CHOICES_MAX = 500
_LISTED_MAX = 100  # that readers are told of
_SHOWN_MAX = 20

MODE, MODEL = "mode", "model"
KINDS = (MODE, MODEL)


class Choice(msgspec.Struct, frozen=True):
    """One mode or model."""

    id: str
    name: str


class Setting(msgspec.Struct, kw_only=True):
    """What can be chosen, and by which message. `option`: the id of a config option."""

    option: str = ""
    choices: list[Choice] = []
    current: str = ""


class Change(msgspec.Struct, frozen=True):
    """A request that changes a setting; its session id is to be added."""

    method: str
    params: Json


class Options:
    """What the agent said last."""

    def __init__(self) -> None:
        self._settings: dict[str, Setting] = {}

    def learn(self, told: Json) -> Json:
        """Takes an answer to `session/new` or `session/load`, or an update; what readers should
        know of it, if something changed."""
        before = self.status()
        self._learn_lists(told)
        for one in items(told.get("configOptions")):
            self._learn_option(obj(one))
        if current := name_of(told.get("currentModeId"), limits.URL_CHARS_MAX):
            self._settings.setdefault(MODE, Setting()).current = current
        now = self.status()
        return now if now != before else {}

    def status(self) -> Json:
        """Current values and choices, by the names that people see, as `ready` has them."""
        told: Json = {}
        for kind, setting in self._settings.items():
            of_kind: Json = {}
            if setting.current:
                of_kind[kind] = self._name(setting, setting.current)
            if setting.choices:
                of_kind[f"{kind}s"] = [one.name for one in setting.choices[:_LISTED_MAX]]
            if of_kind:
                told |= {"model_info": of_kind} if kind == MODEL else of_kind
        return told

    def has(self, kind: str) -> bool:
        return bool(kind in self._settings and self._settings[kind].choices)

    def current(self, kind: str) -> str:
        return self._settings[kind].current if kind in self._settings else ""

    def change(self, kind: str, wanted: str) -> Change | None:
        """How to get what a person named, by id, by name, or by the last part of an id; None if
        it is so already. Raises LookupError, with what there is."""
        setting = self._settings.get(kind)
        if setting is None:
            raise LookupError(f"this agent offers no choice of a {kind}")
        found = _find(setting.choices, wanted)
        if found is None:
            names = ", ".join(one.name for one in setting.choices[:_SHOWN_MAX])
            raise LookupError(f"this agent has no {kind} {wanted!r}; it has: {names}")
        if found.id == setting.current:
            return None
        setting.current = found.id
        if setting.option:
            params = {"configId": setting.option, "value": found.id}
            return Change("session/set_config_option", params)
        return Change(f"session/set_{kind}", {f"{kind}Id": found.id})

    def _learn_lists(self, told: Json) -> None:
        for kind, listed, named in (
            (MODE, "availableModes", "id"),
            (MODEL, "availableModels", "modelId"),
        ):
            state = obj(told.get(f"{kind}s"))
            known = self._settings.get(kind)
            if state and not (known and known.option):
                choices = list(_choices(state.get(listed), named))
                current = name_of(state.get(f"current{kind.title()}Id"), limits.URL_CHARS_MAX)
                self._settings[kind] = Setting(choices=choices, current=current)

    def _learn_option(self, option: Json) -> None:
        option_id = name_of(option.get("id"), limits.NAME_CHARS_MAX)
        category = option.get("category")
        kind = category if category in KINDS else option_id
        if kind in KINDS and option_id:
            self._settings[kind] = Setting(
                option=option_id,
                choices=list(_choices(option.get("options"), "value"))[:CHOICES_MAX],
                current=name_of(option.get("currentValue"), limits.URL_CHARS_MAX),
            )

    @staticmethod
    def _name(setting: Setting, choice_id: str) -> str:
        return next((one.name for one in setting.choices if one.id == choice_id), choice_id)


def _choices(given: Any, named: str) -> Iterator[Choice]:
    """Those of groups too."""
    for one in items(given)[:CHOICES_MAX]:
        fields = obj(one)
        if choice_id := name_of(fields.get(named), limits.URL_CHARS_MAX):
            yield Choice(choice_id, text(fields.get("name"), limits.NAME_CHARS_MAX) or choice_id)
        else:
            yield from _leaves(fields, named)


def _leaves(group: Json, named: str) -> Iterator[Choice]:
    for one in items(group.get("options"))[:CHOICES_MAX]:
        fields = obj(one)
        if choice_id := name_of(fields.get(named), limits.URL_CHARS_MAX):
            yield Choice(choice_id, text(fields.get("name"), limits.NAME_CHARS_MAX) or choice_id)


def _find(choices: list[Choice], wanted: str) -> Choice | None:
    folded = wanted.casefold()
    endings = (f"/{folded}", f"#{folded}")
    by_id = [one for one in choices if one.id == wanted]
    by_name = [one for one in choices if one.name.casefold() == folded]
    by_ending = [one for one in choices if one.id.casefold().endswith(endings)]
    return next(iter(by_id + by_name + by_ending), None)
