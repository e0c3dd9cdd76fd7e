// Character references in text, which marked leaves to HTML.

const NAMED: Record<string, string> = {
  amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", copy: "©", reg: "®", trade: "™",
  hellip: "…", mdash: "—", ndash: "–", lsquo: "‘", rsquo: "’", ldquo: "“", rdquo: "”", laquo: "«",
  raquo: "»", bull: "•", middot: "·", deg: "°", plusmn: "±", times: "×", divide: "÷", micro: "µ",
  para: "¶", sect: "§", euro: "€", pound: "£", yen: "¥", cent: "¢", larr: "←", uarr: "↑", rarr: "→",
  darr: "↓", harr: "↔", ne: "≠", le: "≤", ge: "≥", asymp: "≈", infin: "∞", radic: "√", sum: "∑",
  check: "✓", cross: "✗", ensp: "\u2002", emsp: "\u2003", thinsp: "\u2009", zwj: "\u200d", shy: "\u00ad",
};

export function decoded(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(\w{2,8}));/g, (whole, ten, hex, name) => {
    if (name) return NAMED[name as string] ?? whole;
    const code = ten ? Number.parseInt(ten, 10) : Number.parseInt(hex, 16);
    const isValid = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return isValid ? String.fromCodePoint(code) : "\ufffd";
  });
}
