// What may be done from a row; the page around the transcript says what is possible.

import { createContext, type ReactNode } from "react";

import type { BlockRow, QuestionRow, UserRow } from "../../../session/model.ts";

export type Actions = {
  /** Say it again in other words, in a copy that ends before it. */
  onEdit?: (row: UserRow) => void;
  /** A copy of the session up to the end of the row's turn (`row.turnId`). */
  onFork?: (row: UserRow | BlockRow) => void;
  /** Another card for a question that waits than the usual one. */
  question?: (row: QuestionRow) => ReactNode;
};

export const ActionsOf = createContext<Actions>({});
