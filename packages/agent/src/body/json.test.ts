import { expect, test } from "bun:test";
import { LIMITS } from "../limits.ts";
import { parseJson } from "./json.ts";

const parse = (text: string) => parseJson(Buffer.from(text));
/** Long enough for the values of a body that holds it to be counted. */
const filler = "x".repeat(LIMITS.jsonUncheckedBytes);

test("JSON in UTF-8 is parsed, short and long", () => {
  for (const value of [{ a: ["ü", 1, null] }, { filler, b: '[{,"\\', c: "\\\\" }, [filler, '\\"', "[".repeat(2_000_000)]]) {
    expect(parse(JSON.stringify(value))).toEqual(value);
  }
});

test("other bytes are refused", () => {
  for (const text of ["", "{", `"${filler}`, `["${filler}\\"]`]) expect(() => parse(text)).toThrow();
  expect(() => parseJson(new Uint8Array([0x22, 0xff, 0x22]))).toThrow();
});

test("more values than the bound are refused before they are made", () => {
  const objects = (count: number) => `[${new Array(count).fill("{}").join(",")}]`;
  expect((parse(objects(LIMITS.jsonValues / 2 - 1)) as unknown[]).length).toBe(LIMITS.jsonValues / 2 - 1);
  expect(() => parse(objects(LIMITS.jsonValues / 2 + 1))).toThrow("too many values");
  expect(() => parse(`[${"[".repeat(LIMITS.jsonDepth)}"${filler}"${"]".repeat(LIMITS.jsonDepth)}]`)).toThrow("too deep");
  // Brackets and commas within a string do not count as values.
  expect(parse(JSON.stringify(objects(LIMITS.jsonValues)))).toBeString();
});
