import type { Random } from "./random.ts";

/* Messages for the fuzz test: valid ones of many forms, and ones with small errors in fields and framing. Text is latin1. */

export const METHODS = ["GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS", "PATCH"];
const TARGETS = ["/", "/a/b?c=d", "/%2e%2e/x", "/a//b/", "http://other.test/p?q", "http://other.test", "/\xe9", "/a;b=c", "/x#y"];
const NAMES = ["X", "Accept", "x-long-name_1", "Cookie", "Set-Cookie", "User-Agent", "Connection", "Keep-Alive", "Expect", "TE", "Trailer"];
const VALUES = ["", "y", "a b", " padded ", "\ttab\t", "close", "keep-alive", "x, close", "a:b", '"quoted"', "\xe9\xff", "a,,b", "upgrade"];
const LENGTH_VALUES = ["0", "1", "5", "05", "+5", "5 ", "5,5", "", "0x5", "99999999999999999999", "5 5", "-1", " 5"];
const CODINGS = [
  "chunked",
  "Chunked",
  "chunked, chunked",
  "gzip, chunked",
  "chunked, gzip",
  "identity",
  "xchunked",
  "",
  " chunked ",
  "chunked;a",
];
const SIZES = ["", "0", "g", "0x1", "+1", "-1", " 1", "1 ", "1;", "1;a=b", '1;a="b"', "00001", "FFFFFFFFFFFFFFFFF", "1\t", "1\x00"];
const ENDS = ["\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\n", "\r", "\r\r\n", "\n\r\n"];
/** Bytes that parsers treat differently. */
const CRITICAL = [
  "\r",
  "\n",
  "\r\n",
  "\0",
  " ",
  "\t",
  ":",
  ",",
  ";",
  "\x0b",
  "\x0c",
  "\x7f",
  "\x80",
  "\xa0",
  "0",
  "5",
  "a",
  "\r\n ",
  "\r\n\r\n",
];

const BODY = "abcdefgh\r\nGET /evil HTTP/1.1\r\nHost: e\r\n\r\n0\r\n\r\n\n\r";

function chunks(random: Random, content: string, isHarmed: boolean): string {
  let text = "";
  for (let at = 0; at < content.length; ) {
    const size = 1 + random.below(content.length - at);
    const spelt = random.once(4) ? size.toString(16).toUpperCase().padStart(3, "0") : size.toString(16);
    const extension = random.once(6) ? random.of([";a", ";a=b", '; a="b"', " ;a"]) : "";
    const line = isHarmed && random.once(4) ? random.of(SIZES) : spelt + extension;
    text += `${line}${isHarmed ? random.of(ENDS) : "\r\n"}${content.slice(at, at + size)}${isHarmed ? random.of(ENDS) : "\r\n"}`;
    at += size;
  }
  const trailer = random.once(4) ? random.of(["X: y\r\n", "Content-Length: 3\r\n", "A: b\r\nC: d\r\n"]) : "";
  return `${text}0\r\n${trailer}\r\n`;
}

function fields(random: Random): string[] {
  return Array.from({ length: random.below(4) }, () => `${random.of(NAMES)}:${random.of(["", " ", "  ", "\t"])}${random.of(VALUES)}`);
}

/** Field lines that frame a body, and the body. */
function framed(random: Random, isHarmed: boolean): { lines: string[]; body: string } {
  const content = BODY.slice(0, random.below(BODY.length + 1));
  const lines: string[] = [];
  let body = "";
  const kind = random.below(isHarmed ? 5 : 3);
  if (kind === 1 || kind === 3) {
    lines.push(`Content-Length: ${isHarmed && random.once(2) ? random.of(LENGTH_VALUES) : content.length}`);
    body = content;
  }
  if (kind === 2 || kind === 3) {
    lines.push(`Transfer-Encoding: ${isHarmed && random.once(2) ? random.of(CODINGS) : "chunked"}`);
    body = chunks(random, content, isHarmed);
  }
  if (kind === 4) {
    lines.push(random.of([`Content-Length: ${random.of(LENGTH_VALUES)}`, `Transfer-Encoding: ${random.of(CODINGS)}`]));
    body = random.once(2) ? content : chunks(random, content, true);
  }
  return { lines, body };
}

function shuffled(random: Random, lines: string[]): string {
  for (let i = lines.length - 1; i > 0; i--) {
    const j = random.below(i + 1);
    [lines[i], lines[j]] = [lines[j] as string, lines[i] as string];
  }
  return lines.map((line) => `${line}\r\n`).join("");
}

/** Inserts a critical byte, removes a byte, or repeats up to 20 bytes, at a random place. */
function harm(random: Random, text: string): string {
  const at = random.below(text.length);
  switch (random.below(4)) {
    case 0:
      return text.slice(0, at) + text.slice(at + 1);
    case 1:
      return text.slice(0, at) + text.slice(Math.max(0, at - random.below(20)));
    default:
      return text.slice(0, at) + random.of(CRITICAL) + text.slice(at);
  }
}

function request(random: Random, isHarmed: boolean): string {
  const method = random.of(METHODS);
  const target = method === "OPTIONS" && random.once(4) ? "*" : random.of(TARGETS);
  const { lines, body } = framed(random, isHarmed);
  // HTTP/1.0 has no transfer codings.
  const minor = random.once(8) && (isHarmed || !lines.some((line) => line.startsWith("Transfer"))) ? 0 : 1;
  const hosts = isHarmed && random.once(6) ? random.of([[], ["Host: a", "Host: b"], ["Host: a/b"]]) : ["Host: h.test"];
  return `${method} ${target} HTTP/1.${minor}\r\n${shuffled(random, [...hosts, ...fields(random), ...lines])}\r\n${body}`;
}

export interface Sample {
  readonly bytes: Buffer;
  /** False: the sample is valid. */
  readonly isHarmed: boolean;
}

/** The bytes of one connection: one to three requests. */
export function requestSample(random: Random): Sample {
  const isHarmed = !random.once(3);
  let text = Array.from({ length: 1 + random.below(3) }, () => request(random, isHarmed && random.once(2))).join("");
  if (isHarmed) for (let left = random.below(3); left > 0; left--) text = harm(random, text);
  return { bytes: Buffer.from(text, "latin1"), isHarmed };
}

const STATUSES = [200, 200, 200, 201, 204, 206, 304, 404, 500];

/** The bytes of one connection: the answer to one request, perhaps after an interim one. */
export function responseSample(random: Random): Sample {
  const isHarmed = !random.once(3);
  const interim = random.once(5) ? `HTTP/1.1 ${random.of([100, 102, 103])} X\r\n${shuffled(random, fields(random))}\r\n` : "";
  const { lines, body } = framed(random, isHarmed);
  const head = `HTTP/1.${random.once(8) ? 0 : 1} ${random.of(STATUSES)} ${random.of(["OK", "", "Not Found"])}\r\n`;
  let text = `${interim}${head}${shuffled(random, [...fields(random), ...lines])}\r\n${body}`;
  if (isHarmed) for (let left = random.below(3); left > 0; left--) text = harm(random, text);
  return { bytes: Buffer.from(text, "latin1"), isHarmed };
}
