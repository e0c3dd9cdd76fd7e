"""A whole runtime, as docs/contributing/runtime.md shows it: a model, a shell and a person."""

from typing import Any

from openai import AsyncOpenAI

from trunkline.execution.runtimes.hosted import host
from trunkline.execution.runtimes.hosted.program import Opening, Program
from trunkline.execution.runtimes.hosted.turn import Turn

SHELL: Any = {"type": "function", "function": {"name": "sh", "parameters": {"type": "object"}}}


class ScriptedProgram(Program):
    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._said: list[Any] = opening.state.get().get("said", [])

    async def run(self, turn: Turn) -> str:
        told: list[Any] = [{"type": "text", "text": turn.message}]
        told += [{"type": "image_url", "image_url": {"url": o.data_url}} for o in turn.attachments]
        self._said.append({"role": "user", "content": told})
        try:
            while (answer := await self._ask_model(turn)).get("tool_calls"):
                [call] = answer["tool_calls"]
                given = {"command": call["function"]["arguments"]}
                result = await turn.use("sh", given, self._opening.shell, call["id"])
                tool = {"role": "tool", "tool_call_id": call["id"], "content": result}
                self._said += [answer, tool]
            self._said.append(answer)
            return str(answer["content"])
        finally:
            self._opening.state.put({"said": self._said})

    async def _ask_model(self, turn: Turn) -> Any:
        model: Any = AsyncOpenAI(**self._opening.access("openai"), max_retries=0)  # type: ignore[arg-type]
        system = {"role": "system", "content": turn.settings.system_prompt}
        asked = {"model": turn.settings.model, "messages": [system, *self._said], "tools": [SHELL]}
        usage = {"stream_options": {"include_usage": True}}
        async with model, model.chat.completions.stream(**asked, **usage) as pieces:
            async for piece in pieces:
                if piece.type == "content.delta":
                    turn.emit("text_chunk", content=piece.delta)
            whole = await pieces.get_final_completion()
        spent = whole.usage
        turn.used(whole.model, tokens_in=spent.prompt_tokens, tokens_out=spent.completion_tokens)
        return whole.choices[0].message.to_dict()


def main(socket_path: str) -> None:
    host.run(socket_path, ScriptedProgram)
