"""A whole runtime, as docs/contributing/runtime.md shows it: a model, a shell and a person."""

import base64
from typing import Any

from openai import APIError, AsyncOpenAI

from trunkline.execution.errors import TurnError
from trunkline.execution.process.programs import run_process
from trunkline.execution.runtimes.hosted import host
from trunkline.execution.runtimes.hosted.program import Opening, Program
from trunkline.execution.runtimes.hosted.turn import Turn

SHELL: Any = {"type": "function", "function": {"name": "sh", "parameters": {"type": "object"}}}


class ScriptedProgram(Program):
    def __init__(self, opening: Opening) -> None:
        key = opening.start.api_keys["openai"]
        url = opening.start.llm_config["providers"]["openai"]["base_url"]
        self._model = AsyncOpenAI(api_key=key, base_url=url, max_retries=0)
        self._opening = opening
        self._said: list[Any] = opening.state.get().get("said", [])
        self._is_trusted = False

    async def run(self, turn: Turn) -> str:
        said: list[Any] = [{"type": "text", "text": turn.message}]
        for file in turn.attachments:
            url = f"data:{file.mime};base64,{base64.b64encode(file.data).decode()}"
            said.append({"type": "image_url", "image_url": {"url": url}})
        self._said.append({"role": "user", "content": said})
        try:
            while (answer := await self._ask_model(turn)).get("tool_calls"):
                [call] = answer["tool_calls"]
                result = await self._use_shell(turn, call["id"], call["function"]["arguments"])
                tool = {"role": "tool", "tool_call_id": call["id"], "content": result}
                self._said += [answer, tool]
            self._said.append(answer)
            return str(answer["content"])
        except APIError as error:
            raise TurnError("RUNTIME_FAILED", error.message) from error
        finally:
            self._opening.state.put({"said": self._said})

    async def _ask_model(self, turn: Turn) -> Any:
        system: Any = {"role": "system", "content": turn.settings.system_prompt}
        async with self._model.chat.completions.stream(
            model=turn.settings.model,
            messages=[system, *self._said],
            tools=[SHELL],
            stream_options={"include_usage": True},
        ) as pieces:
            async for piece in pieces:
                if piece.type == "content.delta":
                    turn.emit("text_chunk", content=piece.delta)
            whole = await pieces.get_final_completion()
        if (used := whole.usage) is not None:
            turn.used(whole.model, tokens_in=used.prompt_tokens, tokens_out=used.completion_tokens)
        return whole.choices[0].message.to_dict()

    async def _use_shell(self, turn: Turn, call_id: str, command: str) -> str:
        call: Any = {"tool_name": "sh", "tool_input": {"cmd": command}, "tool_call_id": call_id}
        if not self._is_trusted:
            answer = await turn.permit(**call)
            if not answer.allowed:
                return answer.reason
            self._is_trusted = answer.scope != "once"
        turn.emit("tool_call_start", **call)
        printed: list[str] = []
        where, env = self._opening.workspace, self._opening.env
        argv = ["sh", "-c", command]
        await run_process(argv, cwd=where, env=env, timeout_s=600, take=printed.append)
        turn.emit("tool_call_complete", **call, result="".join(printed))
        return "".join(printed)

    def abort(self) -> None:
        return

    async def close(self) -> None:
        await self._model.close()


def main(socket_path: str) -> None:
    host.run(socket_path, ScriptedProgram)
