"""How much of a model's window a call takes, and what is left for the conversation."""

from typing import NamedTuple

from trunkline import limits
from trunkline.execution.errors import TurnError
from trunkline.execution.llm import tokens
from trunkline.execution.llm.base import Message, ToolSpec
from trunkline.execution.orchestrator.context import Context
from trunkline.execution.orchestrator.prompt import system_prompt

ANSWER_TOKENS = 16_384  # kept free for an answer, where nothing else is said
_PLAIN_TOKENS = 200  # of the opening of a system prompt
_SPARE = 20  # a twentieth of the window: estimates err
_FIRST = ("bash", "read_file", "edit_file", "write_file", "search_files", "ask_user")


class Room(NamedTuple):
    """What one call is made of, besides the conversation; counted in tokens."""

    window: int
    answer: int
    """The most that an answer is asked for, or is left room for."""
    system: str
    tools: list[ToolSpec]
    taken: int
    """By the system prompt and the tools."""

    @property
    def free(self) -> int:
        """For the conversation."""
        return self.window - self.answer - self.taken - self.window // _SPARE


async def room(context: Context, messages: list[Message]) -> tuple[Room, int]:
    """For the agent's next call, and how much of it the conversation takes."""
    settings, meter = context.settings, context.meter
    system, specs = system_prompt(context), context.tool_specs()
    fixed = tokens.of_text(system) + tokens.of_tools(specs)
    said = meter.measured(tokens.of_messages(messages))
    window = await context.router.window(context.model, said + meter.measured(fixed))
    window = min(window, settings.context_window or window, limits.CONTEXT_TOKENS_MAX)
    answer = window // 4
    if settings.max_tokens is not None:
        answer = min(settings.max_tokens + (settings.thinking_tokens or 0), 2 * answer)
    answer = min(answer, max(ANSWER_TOKENS, settings.max_tokens or 0))
    if context.router.is_plain(context.model):
        return Room(window, answer, system, specs, _PLAIN_TOKENS), said
    specs = _fitting(specs, meter.unmeasured(window / 2) - tokens.of_text(system))
    taken = meter.measured(tokens.of_text(system) + tokens.of_tools(specs))
    found = Room(window, answer, system, specs, taken)
    if found.free < window // 8:
        raise TurnError(
            "MODEL_CONTEXT_FULL",
            f"The instructions and tools of this agent take about {taken} of the {window} tokens "
            "that its model can read. Give it a shorter system prompt, fewer tools, or a model "
            "with a larger context.",
        )
    return found, said


def _fitting(specs: list[ToolSpec], room: float) -> list[ToolSpec]:
    """All tools; for a small window in few words, or only the first ones."""
    if tokens.of_tools(specs) <= room:
        return specs
    brief = [_brief(spec) for spec in specs]
    if tokens.of_tools(brief) <= room:
        return brief
    kept: list[ToolSpec] = []
    for spec in sorted(brief, key=lambda one: one.name not in _FIRST):
        room -= tokens.of_tools([spec])
        if room < 0:
            break
        kept.append(spec)
    return kept


def _brief(spec: ToolSpec) -> ToolSpec:
    first = spec.description.split(". ")[0].split("\n")[0]
    return ToolSpec(spec.name, first[:120], _without_descriptions(spec.parameters))


def _without_descriptions(schema: object) -> dict[str, object]:
    found = _plain(schema)
    return found if isinstance(found, dict) else {"type": "object"}


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {
            name: _plain(one)
            for name, one in value.items()
            if not (name == "description" and isinstance(one, str))
        }
    return [_plain(one) for one in value] if isinstance(value, list) else value
