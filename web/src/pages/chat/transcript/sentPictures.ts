// Pictures that were sent from this tab. The log has only their names: the pictures themselves go to
// the machine and are kept by nobody else, so that after a reload only the names are left.

const MESSAGES_MAX = 20;

export type SentPicture = { name: string; address: string };

const sent = new Map<string, readonly SentPicture[]>();

/** From now on the addresses are this module's to release. */
export function keepPictures(messageId: string, pictures: readonly SentPicture[]): void {
  if (pictures.length === 0) return;
  sent.set(messageId, pictures);
  for (const [oldest, left] of sent) {
    if (sent.size <= MESSAGES_MAX) return;
    sent.delete(oldest);
    for (const { address } of left) URL.revokeObjectURL(address);
  }
}

export function picturesOf(messageId: string | null): readonly SentPicture[] {
  return (messageId !== null && sent.get(messageId)) || [];
}
