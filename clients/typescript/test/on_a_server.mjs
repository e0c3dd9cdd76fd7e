// Run by tests/e2e/system/test_typescript_client.py, which plays the machine: the built package, as
// its users import it. Says what it saw as lines of JSON.
import { Client, endsTurn } from "@trunkline/client";

const say = (what, value) => console.log(JSON.stringify([what, value]));
const client = new Client({ url: process.env.TRUNKLINE_URL, token: process.env.TRUNKLINE_TOKEN });
const { sessions } = client;

say("user", (await client.me()).user.id);
const session = await sessions.create({ title: "From Node" });
say("session", session.id);

const answer = await sessions.ask(session.id, "Write it.", {
  files: [{ name: "notes.txt", content: "What I know." }],
  onQuestion: (question) => question.tool_name === "bash",
});
say("answer", answer.text);

await sessions.send(session.id, "Once more.");
for await (const question of sessions.watchApprovals({ sessionId: session.id })) {
  say("state", (await sessions.answer(question.id, { confirmed: false, reason: "not today" })).state);
  break;
}
const ids = [];
for await (const { id, event } of sessions.stream(session.id)) {
  ids.push(id);
  if (endsTurn(event) && id > answer.lastEventId) break;
}
say("ids", ids);
const failed = await sessions.get("nothing").catch((error) => [error.name, error.status, error.code]);
say("error", failed);
