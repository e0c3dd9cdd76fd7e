// A plain relay on Node: `ws` for lines, server-sent events for readers. Keeps nothing, checks no
// one, replays nothing: a peer for the benchmark, started by its side.
import { createServer } from "node:http";
import { WebSocketServer } from "ws";

const readers = new Map(); // session id -> the answers that follow it

const server = createServer((request, response) => {
  const id = request.url.match(/^\/stream\/([^/?]+)/)?.[1];
  if (id === undefined) return response.end("ok");
  response.writeHead(200, { "Content-Type": "text/event-stream" }).flushHeaders();
  const mine = readers.get(id) ?? readers.set(id, new Set()).get(id);
  mine.add(response);
  request.on("close", () => mine.delete(response));
});

new WebSocketServer({ server, path: "/line", perMessageDeflate: false }).on("connection", (line) => {
  const lastIds = new Map();
  line.on("message", (data) => {
    const event = JSON.parse(data);
    if (event.type !== "sse_event") return;
    const id = (lastIds.get(event.session_id) ?? 0) + 1;
    lastIds.set(event.session_id, id);
    for (const reader of readers.get(event.session_id) ?? []) reader.write(`id: ${id}\ndata: ${event.data}\n\n`);
  });
});

server.listen({ host: "127.0.0.1", port: Number(process.argv[2]), backlog: 4096 });
