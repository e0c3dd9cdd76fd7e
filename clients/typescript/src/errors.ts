// What can go wrong, and what the server said about it.

/** The server said no, or could not be reached (`UNREACHABLE`, status 0). */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: string;
  readonly status: number;

  constructor(code: string, message: string, status: number) {
    super(message);
    this.code = code;
    this.status = status;
  }

  /** Whether the same request may work a little later. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || (this.status >= 502 && this.status <= 504);
  }

  /** Whether it is unknown what became of the request: nobody, or a proxy, has answered. */
  get isOpen(): boolean {
    return this.status === 0 || (this.status >= 500 && this.code === `HTTP_${this.status}`);
  }
}

/** The agent did not come to an answer. Codes: docs/protocols/events.md. */
export class TurnFailed extends Error {
  override readonly name = "TurnFailed";
  readonly code: string;
  readonly turnId: string;

  constructor(code: string, message: string, turnId: string) {
    super(message);
    this.code = code;
    this.turnId = turnId;
  }
}

/** A stream ended, and every attempt to take it up again failed. */
export class StreamBroken extends Error {
  override readonly name = "StreamBroken";
}

type Answer<D> = { data?: D; error?: unknown; response: Response };

/** What a route of `api` returned, or an ApiError with the server's words. */
export async function unwrap<D>(call: Promise<Answer<D>>): Promise<D> {
  let answer: Answer<D>;
  try {
    answer = await call;
  } catch (error) {
    throw unreachable(error);
  }
  if (answer.response.ok) return answer.data as D;
  throw errorOf(answer.error, answer.response);
}

export function unreachable(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError("UNREACHABLE", error instanceof Error ? error.message : String(error), 0);
}

export function errorOf(body: unknown, response: Response): ApiError {
  const said = (body as { error?: { code?: unknown; message?: unknown } } | null)?.error;
  const code = typeof said?.code === "string" ? said.code : `HTTP_${response.status}`;
  const message = typeof said?.message === "string" ? said.message : response.statusText;
  return new ApiError(code, message, response.status);
}
