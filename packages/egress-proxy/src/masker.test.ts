import { expect, test } from "bun:test";
import { formsOf, Masker } from "./masker.ts";

const SECRET = 'ghp_a/b+c"d 0123456789';
const forms = formsOf([SECRET]);

/** What comes out of an answer in pieces of this size, and how many bytes came after each piece. */
function passed(text: string, size: number): { text: string; steps: number[] } {
  const masker = new Masker(forms);
  const bytes = Buffer.from(text);
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.byteLength; at += size) parts.push(masker.push(bytes.subarray(at, at + size)));
  parts.push(masker.end());
  return { text: Buffer.concat(parts).toString(), steps: parts.map(({ byteLength }) => byteLength) };
}

const SHOWN: readonly [string, string][] = [
  ["as it is", SECRET],
  ["in JSON", JSON.stringify(SECRET).slice(1, -1)],
  ["percent-encoded", encodeURIComponent(SECRET)],
  ["percent-encoded in lower case", encodeURIComponent(SECRET).replace(/%../g, (hex) => hex.toLowerCase())],
  ["of a form", new URLSearchParams({ a: SECRET }).toString().slice(2).replaceAll("%2B", "%2B")],
  ["in HTML", SECRET.replaceAll('"', "&quot;")],
  ["in hex", Buffer.from(SECRET).toString("hex")],
];

test("a secret is masked in each form, at each cut of the answer", () => {
  for (const [form, text] of SHOWN)
    for (let size = 1; size <= text.length + 12; size++)
      expect([form, size, passed(`before ${text}, after`, size).text]).toEqual([form, size, "before [masked], after"]);
});

test("a secret is masked within base64, wherever it begins there, in both alphabets", () => {
  for (const before of ["", "u:", "us:", "user:"])
    for (const alphabet of ["base64", "base64url"] as const) {
      const shown = passed(`{"auth":"${Buffer.from(`${before}${SECRET}${before}`).toString(alphabet)}"}`, 7).text;
      const left = shown.replace("[masked]", "").slice(9, -2);
      // What is left says less of the secret than one byte at each end.
      expect([before, alphabet, shown.includes("[masked]"), left.length <= Math.ceil((2 * before.length * 8) / 6) + 6]).toEqual([
        before,
        alphabet,
        true,
        true,
      ]);
    }
});

test("nothing but whole secrets is changed", () => {
  const text = `${SECRET.slice(0, -1)} ${SECRET.slice(1)} plain\n`.repeat(3);
  for (const size of [1, 5, 64, 999]) expect(passed(text, size).text).toBe(text);
});

test("what waits does not depend on whether it looks like a secret, and lines do not wait", () => {
  const prefix = `x${SECRET.slice(0, 20)}`;
  const other = "y".repeat(prefix.length);
  for (const size of [1, 3, 50]) expect(passed(prefix, size).steps).toEqual(passed(other, size).steps);
  expect(passed("data: event\n\n", 99).steps).toEqual(["data: event\n\n".length, 0]);
});
