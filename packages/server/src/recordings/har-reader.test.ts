import { expect, test } from "bun:test";
import { AppError } from "@boxyard/core";
import { isLinear } from "@boxyard/testkit";
import { readHar } from "./har-reader.ts";

async function* pieces(bytes: Buffer, size: (at: number) => number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; ) {
    const end = Math.min(bytes.byteLength, at + size(at));
    yield bytes.subarray(at, end);
    at = end;
  }
}

const all = (text: string | Buffer, size = (_at: number) => 7) => Array.fromAsync(readHar(pieces(Buffer.from(text), size)));

/** The same numbers in each run (xorshift). */
function randomOf(seed: number): (below: number) => number {
  let state = seed | 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

const ENTRIES = [
  { a: 'q"uote\\', b: ["[", "]", "{", { c: "}" }] },
  { text: "ünï", n: 1.5, nothing: null },
  {},
  { deep: { entries: [1, 2, { entries: [] }] }, long: "x".repeat(3000) },
];
const HAR = JSON.stringify({
  other: { entriesOf: [], x: '"entries":[' },
  log: { version: "1.2", comment: "entries", pages: [{ id: "entries", entries: [{ no: 1 }] }], entries: ENTRIES, after: [{ no: 2 }] },
});

test("gives the entries of an archive, however its bytes come", async () => {
  for (let size = 1; size < 40; size++) expect(await all(HAR, () => size)).toEqual(ENTRIES);
  expect(await all(JSON.stringify(JSON.parse(HAR), null, 2))).toEqual(ENTRIES);
  expect(await all('{"log":{"entries":[]}}')).toEqual([]);
});

test("refuses what is no archive", async () => {
  for (const text of [
    "",
    "{",
    "[]",
    "{}",
    "}",
    '{"log":{"entries":[{',
    '{"log":{"entries":[{]]}}',
    '{"log":{"entries":[{"a":1',
    `${"[".repeat(2000)}`,
  ])
    await expect(all(text)).rejects.toMatchObject({ reason: "bad_har" });
});

test("an archive costs time by its length alone, whatever its texts are of", async () => {
  const read = (length: number) => {
    const bytes = Buffer.from(`{"log":{"entries":[{"a":"${"\\\\".repeat(length / 2)}"}]}}`);
    return all(bytes, () => bytes.byteLength);
  };
  expect(await read(64)).toEqual([{ a: "\\".repeat(32) }]);
  expect(await isLinear(read, 128 << 10)).toBe(true);
}, 60_000);

test("an entry that a parser would make much memory of is refused", async () => {
  const entryOf = (rest: string) => `{"log":{"entries":[{"a":[${rest}1]}]}}`;
  await expect(all(entryOf("[],".repeat(2 << 20)), () => 64 << 10)).rejects.toMatchObject({ reason: "bad_har" });
  await expect(all(entryOf(" ".repeat(5 << 20)), () => 64 << 10)).rejects.toMatchObject({ reason: "bad_har" });
  const text = "[],".repeat(2 << 20);
  expect(await all(`{"log":{"entries":[{"a":"${text}"},{"a":"${text}"}]}}`, () => 64 << 10)).toEqual([{ a: text }, { a: text }]);
  // Entry by entry.
  const many = await all(`{"log":{"entries":[${`{"a":[${"1,".repeat(1 << 20)}1]},`.repeat(3)}{}]}}`, () => 64 << 10);
  expect(many).toHaveLength(4);
});

test("damaged archives give entries or one error, and nothing else", async () => {
  const random = randomOf(5);
  const good = Buffer.from(HAR);
  for (let round = 0; round < 1000; round++) {
    const bytes = Buffer.from(good);
    for (let i = 0; i <= random(5); i++)
      bytes[random(bytes.byteLength)] = random(4) ? random(256) : (Buffer.from('{}[]"\\')[random(6)] as number);
    const cut = random(3) ? bytes : bytes.subarray(0, random(bytes.byteLength));
    const error = await all(cut, () => 1 + random(300)).then(
      () => undefined,
      (cause: unknown) => cause,
    );
    if (error !== undefined) expect(error).toBeInstanceOf(AppError);
  }
});
