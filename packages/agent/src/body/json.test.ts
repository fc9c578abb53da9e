import { expect, test } from "bun:test";
import { LIMITS } from "../limits.ts";
import { parseJson } from "./json.ts";

const parse = (text: string) => parseJson(Buffer.from(text));
/** A text too long to be let through unseen. */
const filler = "x".repeat(LIMITS.jsonUncheckedBytes);

test("what is JSON in UTF-8 comes out as it is, short and long", () => {
  for (const value of [{ a: ["ü", 1, null] }, { filler, b: '[{,"\\', c: "\\\\" }, [filler, '\\"', "[".repeat(2_000_000)]]) {
    expect(parse(JSON.stringify(value))).toEqual(value);
  }
});

test("what is not is refused", () => {
  for (const text of ["", "{", `"${filler}`, `["${filler}\\"]`]) expect(() => parse(text)).toThrow();
  expect(() => parseJson(new Uint8Array([0x22, 0xff, 0x22]))).toThrow();
});

test("more values than the bound are refused before they are made", () => {
  const objects = (count: number) => `[${new Array(count).fill("{}").join(",")}]`;
  expect((parse(objects(LIMITS.jsonValues / 2 - 1)) as unknown[]).length).toBe(LIMITS.jsonValues / 2 - 1);
  expect(() => parse(objects(LIMITS.jsonValues / 2 + 1))).toThrow("too many values");
  expect(() => parse(`[${"[".repeat(LIMITS.jsonDepth)}"${filler}"${"]".repeat(LIMITS.jsonDepth)}]`)).toThrow("too deep");
  // In a text they are no values.
  expect(parse(JSON.stringify(objects(LIMITS.jsonValues)))).toBeString();
});
