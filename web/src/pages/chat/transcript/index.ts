// The transcript of a session, and its parts for pages that show a session in another shape.
export type { Actions } from "./actions.ts";
export { RowList, type RowListProps } from "./RowList.tsx";
export { Transcript, type TranscriptProps } from "./Transcript.tsx";
