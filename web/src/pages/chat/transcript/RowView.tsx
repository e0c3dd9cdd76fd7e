import type { Row } from "../../../session/model.ts";
import { FileLine } from "./Files.tsx";
import { Notice, Plan, Question, Speaker, TurnEnd } from "./Marks.tsx";
import { AnswerBlock, Thinking, UserMessage } from "./Said.tsx";
import { ToolCard } from "./ToolCard.tsx";

export function RowView({ row }: { row: Row }) {
  switch (row.kind) {
    case "user":
      return <UserMessage row={row} />;
    case "block":
      return <AnswerBlock row={row} />;
    case "thinking":
      return <Thinking row={row} />;
    case "tool":
      return <ToolCard row={row} />;
    case "plan":
      return <Plan row={row} />;
    case "file":
      return <FileLine file={row.file} />;
    case "question":
      return <Question row={row} />;
    case "notice":
      return <Notice row={row} />;
    case "speaker":
      return <Speaker row={row} />;
    case "end":
      return <TurnEnd row={row} />;
  }
}
