// Where a link or a picture in an answer may lead: what a model writes is not trusted.

const SCHEMES = ["http:", "https:", "mailto:"];
const PICTURE = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[a-z0-9+/=]+$/i;
/** Browsers drop these inside of an address, which can hide its scheme. */
const CONTROLS = /[\u0000-\u0020\u007f]/;

/** The address, or null for one that is shown as text. */
export function safeLink(href: string): string | null {
  if (CONTROLS.test(href)) return null;
  try {
    return SCHEMES.includes(new URL(href).protocol) ? href : null;
  } catch {
    return null;
  }
}

/** A picture in the text itself, or a file of the session. Never one from elsewhere: to fetch it
 * would tell its server whatever the address was made of. */
export function safePicture(href: string, sessionId: string | null): string | null {
  if (PICTURE.test(href)) return href;
  const path = filePath(href);
  return path !== null && sessionId !== null ? fileAddress(sessionId, path) : null;
}

/** A path within the session's folder, or null. */
export function filePath(href: string): string | null {
  if (CONTROLS.test(href) || /^(?:[a-z][a-z0-9+.-]*:|[/\\#?])/i.test(href)) return null;
  let path: string;
  try {
    path = decodeURIComponent(href.replace(/[?#].*$/, ""));
  } catch {
    return null;
  }
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  return parts.length === 0 || parts.includes("..") || path.includes("\\") ? null : parts.join("/");
}

/** Which a message, an answer or a file shows as a picture. */
export const isPictureType = (mime: string) => /^image\/(?:png|jpeg|gif|webp|avif)$/.test(mime);

/** Where a file that came with a message can be had. */
export function attachmentAddress(sessionId: string, messageId: string, place: number): string {
  return `/api/v1/sessions/${encodeURIComponent(sessionId)}/messages/${encodeURIComponent(messageId)}/attachments/${place}`;
}

/** Where a file of a session can be had. */
export function fileAddress(sessionId: string, path: string): string {
  const parts = path.split("/").filter((part) => part !== "");
  return `/api/v1/sessions/${encodeURIComponent(sessionId)}/files/${parts.map(encodeURIComponent).join("/")}`;
}
