// Messages on their way. One that could not be sent stays, also over a reload, and is sent again
// under the same name: the server takes each once.
import { useSyncExternalStore } from "react";
import { api, unwrap } from "../../../api/client";
import { keepUnsent, unsentOf, type Message } from "./unsent.ts";

export type { Message };

export type Sending = Message & { error: unknown };

const boxes = new Map<string, readonly Sending[]>();
const own = new Set<string>();
const listeners = new Set<() => void>();

export function useOutbox(sessionId: string): readonly Sending[] {
  return useSyncExternalStore(subscribe, () => boxOf(sessionId));
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function boxOf(sessionId: string): readonly Sending[] {
  const known = boxes.get(sessionId);
  if (known !== undefined) return known;
  // Nobody knows whether it arrived, and sending it again does no harm.
  const left = unsentOf(sessionId).map((one) => ({ ...one, error: NOT_SENT }));
  for (const { id } of left) own.add(id);
  boxes.set(sessionId, left);
  return left;
}

/** Why a message of an earlier visit is still here. */
export const NOT_SENT = "not sent";

function setBox(sessionId: string, box: readonly Sending[]): void {
  boxes.set(sessionId, box);
  for (const { id } of box) own.add(id);
  keepUnsent(sessionId, box, own);
  for (const listener of listeners) listener();
}

export async function send(sessionId: string, message: Message): Promise<void> {
  const others = () => boxOf(sessionId).filter((one) => one.id !== message.id);
  setBox(sessionId, [...others(), { ...message, error: null }]);
  try {
    await unwrap(
      api.POST("/api/v1/sessions/{session_id}/messages", {
        params: { path: { session_id: sessionId } },
        body: {
          message: message.text,
          client_message_id: message.id,
          attachment_ids: message.files.map((file) => file.id),
          when_busy: message.whenBusy,
        },
      }),
    );
    setBox(sessionId, others());
  } catch (error) {
    setBox(sessionId, [...others(), { ...message, error }]);
  }
}

export function drop(sessionId: string, id: string): void {
  setBox(
    sessionId,
    boxOf(sessionId).filter((one) => one.id !== id),
  );
}
