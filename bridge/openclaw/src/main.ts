/**
 * A session of the OpenClaw runtime. Started by the daemon, which gives it `SOCKET_PATH`,
 * `SESSION_ID`, `SKILLS_CACHE_DIR` and `MEMORY_DIR`; ends with 0 when it was told to stop.
 */

import { Bridge } from "./bridge.ts";
import { GatewayLink } from "./gateway.ts";
import { asObject, wordsOf, type Json } from "./json.ts";
import { Session } from "./session.ts";

function needed(name: string): string {
  const value = process.env[name];
  if (!value) {
    console.error(`${name} is not set: this program is started by a Trunkline daemon`);
    process.exit(2);
  }
  return value;
}

async function main(): Promise<void> {
  const bridge = await Bridge.connect(needed("SOCKET_PATH"));
  const session = new Session(bridge, {
    sessionId: needed("SESSION_ID"),
    skillsCache: needed("SKILLS_CACHE_DIR"),
    memoryDir: needed("MEMORY_DIR"),
    connect: GatewayLink.connect,
    now: Date.now,
  });
  bridge.onClose = () => process.exit(0); // without the daemon nobody hears it
  bridge.onMessage = (message) => void take(message, session, bridge);
}

async function take(message: Json, session: Session, bridge: Bridge): Promise<void> {
  try {
    switch (message["type"]) {
      case "start":
        bridge.send({ type: "ready", problems: await session.open(message) });
        return;
      case "user_message":
        session.say(asObject(message["data"]));
        return;
      case "cancel":
        session.cancel();
        return;
      case "config_update":
        session.configure(asObject(message["data"]));
        return;
      case "approval_response":
        session.answer(asObject(message["data"]));
        return;
      case "stop":
        await session.stop();
        bridge.onClose = () => undefined;
        await bridge.close();
        process.exit(0);
    }
  } catch (error) {
    fail(bridge, error);
  }
}

/** Last words: it cannot go on, and says why. */
function fail(bridge: Bridge, error: unknown): void {
  bridge.send({ type: "error", message: wordsOf(error), code: "SESSION_FAILED" });
  void bridge.close().then(() => process.exit(1));
}

main().catch((error: unknown) => {
  console.error(wordsOf(error));
  process.exit(1);
});
