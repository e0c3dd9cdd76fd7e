// Draws the icons of the installed page, as pictures: `node scripts/icons.mjs` writes them beside
// `icon.svg`, whose shape they have. No picture program is needed: a PNG is zlib and a few headers.
import { writeFileSync } from "node:fs";
import { crc32, deflateSync } from "node:zlib";

const BLUE = [0x24, 0x57, 0xc5];
const SMOOTH = 4; // samples a pixel, in each direction

/** Of a picture of 64 by 64: how far a point is from the white shape; inside it is negative. */
function shape(x, y) {
  const lines = [
    [14, 20, 50, 20],
    [32, 20, 32, 48],
    [20, 34, 44, 34],
  ];
  const strokes = lines.map(([x1, y1, x2, y2]) => toLine(x, y, x1, y1, x2, y2) - 2.5);
  return Math.min(...strokes, Math.hypot(x - 32, y - 48) - 5);
}

function toLine(x, y, x1, y1, x2, y2) {
  const length = (x2 - x1) ** 2 + (y2 - y1) ** 2;
  const along = Math.max(0, Math.min(1, ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / length));
  return Math.hypot(x - x1 - along * (x2 - x1), y - y1 - along * (y2 - y1));
}

function inTile(x, y, radius) {
  const dx = Math.max(radius - x, x - (64 - radius), 0);
  const dy = Math.max(radius - y, y - (64 - radius), 0);
  return Math.hypot(dx, dy) <= radius;
}

/** `zoom`: how large the shape is in it; a mask may cut a fifth off each side. */
function pixel(px, py, size, radius, zoom) {
  let white = 0;
  let tile = 0;
  for (let i = 0; i < SMOOTH * SMOOTH; i++) {
    const x = ((px + ((i % SMOOTH) + 0.5) / SMOOTH) * 64) / size;
    const y = ((py + (Math.floor(i / SMOOTH) + 0.5) / SMOOTH) * 64) / size;
    if (!inTile(x, y, radius)) continue;
    tile++;
    if (shape(32 + (x - 32) / zoom, 32 + (y - 32) / zoom) < 0) white++;
  }
  if (tile === 0) return [0, 0, 0, 0];
  const share = white / tile;
  const colour = BLUE.map((one) => Math.round(one + (255 - one) * share));
  return [...colour, Math.round((255 * tile) / (SMOOTH * SMOOTH))];
}

function chunk(kind, body) {
  const named = Buffer.concat([Buffer.from(kind), body]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

function draw(name, size, radius, zoom) {
  const rows = [];
  for (let y = 0; y < size; y++) {
    rows.push(0);
    for (let x = 0; x < size; x++) rows.push(...pixel(x, y, size, radius, zoom));
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(size, 0);
  head.writeUInt32BE(size, 4);
  head.set([8, 6, 0, 0, 0], 8);
  const parts = [chunk("IHDR", head), chunk("IDAT", deflateSync(Buffer.from(rows), { level: 9 }))];
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  writeFileSync(`public/${name}`, Buffer.concat([signature, ...parts, chunk("IEND", Buffer.alloc(0))]));
}

draw("icon-192.png", 192, 14, 1);
draw("icon-512.png", 512, 14, 1);
draw("icon-maskable.png", 512, 0, 0.8);
draw("icon-apple.png", 180, 0, 0.9);
