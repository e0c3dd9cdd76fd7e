// What a person can do about a turn that failed, by its code (docs/protocols/events.md).
export type Advice =
  | "again"
  | "wait"
  | "goOn"
  | "setKey"
  | "otherModel"
  | "inParts"
  | "makeRoom"
  | "otherFolder"
  | "closeOne"
  | "otherRuntime"
  | "logInThere"
  | "doctor"
  | "mendCause"
  | "report";

const CODES: Record<Advice, string> = {
  again:
    "RUNTIME_CRASHED SESSION_START_FAILED SESSION_CRASHED SESSION_OUT_OF_MEMORY SESSION_HUNG SESSION_FAILED " +
    "SESSION_STOPPED MODEL_OVERLOADED MODEL_UNREACHABLE MACHINE_RESTARTED SESSION_MOVED DELIVERY_UNKNOWN " +
    "MACHINE_SILENT DEVICE_SILENT SESSION_START_TIMEOUT RESTORED",
  wait: "SESSION_BUSY TURN_QUEUE_FULL MACHINE_BUSY MODEL_RATE_LIMITED MACHINE_OFFLINE",
  goOn: "TURN_LIMIT TURN_TIMEOUT",
  setKey: "MODEL_KEY_MISSING MODEL_KEY_REFUSED",
  otherModel: "MODEL_NOT_FOUND",
  inParts: "MODEL_CONTEXT_FULL",
  makeRoom: "DISK_FULL",
  otherFolder: "WORKSPACE_REFUSED",
  closeOne: "SESSION_LIMIT",
  otherRuntime: "RUNTIME_UNSUPPORTED RUNTIME_UNAVAILABLE",
  logInThere: "RUNTIME_LOGIN",
  doctor: "FENCE_REQUIRED",
  mendCause: "TOOLS_KEEP_FAILING",
  report: "TURN_FAILED INVALID_MESSAGE",
};

const BY_CODE = new Map<string, Advice>(
  Object.entries(CODES).flatMap(([advice, codes]) => codes.split(" ").map((code) => [code, advice as Advice] as const)),
);

/** Null: the error's own words are all that is known. */
export function adviceOn(code: string): Advice | null {
  return BY_CODE.get(code) ?? null;
}

export const CODES_WITH_ADVICE: readonly string[] = [...BY_CODE.keys()];
