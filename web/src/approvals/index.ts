// Questions of sessions to people: the card for the inbox and the transcript.
export { QuestionCard } from "./QuestionCard";
export type { Asked, Resolution } from "./question";
