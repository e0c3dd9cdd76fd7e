// Whole frames out of any pieces, as the standard has them; what makes no sense is passed over.
import assert from "node:assert/strict";
import { test } from "node:test";
import { readAccountFrame } from "../src/account.ts";
import { delayMs, silenceMs } from "../src/backoff.ts";
import { FrameReader, type Frame } from "../src/sse.ts";

function framesOf(pieces: string[]): Frame[] {
  const found: Frame[] = [];
  const reader = new FrameReader((frame) => found.push(frame));
  for (const piece of pieces) reader.feed(piece);
  return found;
}

const frame = (data: string, id = "", event = "message"): Frame => ({ event, id, data });

test("frames are read as the standard has them", () => {
  const cases: [string, Frame[]][] = [
    ["data: a\n\n", [frame("a")]],
    ["\uFEFFdata:a\r\n\r\n", [frame("a")]],
    ["id: s:1\rdata: a\r\rdata\r\r", [frame("a", "s:1"), frame("")]],
    ["event: x\ndata: a\ndata: b\n\n", [frame("a\nb", "", "x")]],
    [": heartbeat\n\n", []],
    ["event: x\n\n", []],
    ["data:  two\n\n", [frame(" two")]],
    ["data: a\nunknown: b\n:c\n\n", [frame("a")]],
    ["id: a\0b\ndata: x\n\n", [frame("x")]],
    ["data: a", []],
    ["id: 1\ndata: a\n\ndata: b\n\n", [frame("a", "1"), frame("b")]],
    ["data: a: b:c\n\n", [frame("a: b:c")]],
  ];
  for (const [text, wanted] of cases) assert.deepEqual(framesOf([text]), wanted, JSON.stringify(text));
});

test("what is cut into pieces anywhere is read the same", () => {
  const text =
    "\uFEFFevent: hello\r\ndata: {}\r\n\r\n: heartbeat\n\nid: s:1\ndata: é😀\ndata: \r\rretry: 5\n\nid: s:2\r\ndata: b\r\n\r\n";
  const whole = framesOf([text]);
  assert.equal(whole.length, 3);
  for (let at = 0; at <= text.length; at++) {
    assert.deepEqual(framesOf([text.slice(0, at), "", text.slice(at)]), whole, `cut at ${at}`);
  }
  assert.deepEqual(framesOf([...text]), whole);
  const bytes = new TextEncoder().encode(text);
  for (let size = 1; size < 8; size++) {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    const pieces: string[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      pieces.push(decoder.decode(bytes.slice(at, at + size), { stream: true }));
    }
    assert.deepEqual(framesOf(pieces), whole, `pieces of ${size} bytes`);
  }
});

test("an event that does not end is not kept for ever", () => {
  for (const piece of ["x".repeat(10), "data: 12345\n", "id: 1\n"]) {
    const reader = new FrameReader(() => undefined, undefined, 50);
    assert.throws(() => {
      for (let nth = 0; nth < 20; nth++) reader.feed(piece);
    }, /more than 50 characters/);
  }
  const reader = new FrameReader(() => undefined, undefined, 50);
  for (let nth = 0; nth < 20; nth++) reader.feed("data: 12345\n\n: a comment\n");
});

test("frames that make no sense are passed over", () => {
  const strange: Frame[] = [
    frame("x", "7"),
    frame("x", ":7"),
    frame("x", "s:0"),
    frame("x", "s:1e400"),
    frame("x", "s:-1"),
    frame("x", "s:1.5"),
    frame("no JSON", "", "session"),
    frame("null", "", "session"),
    frame("[]", "", "approval"),
    frame('{"id":5}', "", "machine"),
    frame('{"id":"a","kind":"planet"}', "", "gone"),
    frame("{}", "", "hello"),
    frame('{"id":"a"}', "", "of tomorrow"),
  ];
  for (const one of strange) assert.equal(readAccountFrame(one), null, JSON.stringify(one));
  assert.deepEqual(readAccountFrame(frame("{}", "s:7")), { kind: "event", sessionId: "s", event: { id: 7, line: "{}" } });
  assert.deepEqual(readAccountFrame(frame('{"stream_id":"x"}', "", "hello")), {
    kind: "hello",
    streamId: "x",
    heartbeatS: 15,
  });
});

test("waiting grows, is never in step, and listens to the server", () => {
  assert.ok(delayMs(0, 0) >= 250 && delayMs(0, 1) <= 500);
  assert.ok(delayMs(30, 1) <= 15_000);
  assert.ok(delayMs(30, 0) < delayMs(30, 0.9));
  assert.ok(delayMs(0, 0, 1_000) >= 1_000);
  assert.ok(silenceMs(15) > 30_000);
});
