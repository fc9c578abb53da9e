import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesField, numberField, withMessages } from "./image-messages.ts";
import { lazyProcessesIn } from "./lazy-pages.ts";
import { readPages } from "./page-images.ts";

const HEAD = Buffer.alloc(8);
const PAGE = 4096;
const MIB = 1 << 20;
const HEAP = 0x7000_0000;

const message = (...fields: readonly (readonly [number, number])[]) =>
  Buffer.concat(fields.map(([number, value]) => numberField(number, BigInt(value))));
const mapping = (start: number, bytes: number, { status = 513, flags = 0x22, protection = 3 } = {}) =>
  bytesField(14, message([1, start], [2, start + bytes], [5, protection], [6, flags], [7, status]));

let images: string;
beforeAll(() => {
  images = mkdtempSync(join(tmpdir(), "boxyard-lazy-pages-"));
});
afterAll(() => rmSync(images, { recursive: true }));

/** Runs of pages: where each begins, and its bytes. */
type Runs = readonly (readonly [address: number, bytes: number])[];

function write(processes: readonly { pid: number; parent: number; runs: Runs; mappings: readonly Buffer[] }[]): void {
  writeFileSync(
    join(images, "pstree.img"),
    withMessages(
      HEAD,
      processes.map(({ pid, parent }) => message([1, pid], [2, parent])),
    ),
  );
  for (const { pid, runs, mappings } of processes) {
    const entries = runs.map(([address, bytes]) => message([1, address], [2, bytes / PAGE], [4, 4]));
    writeFileSync(join(images, `pagemap-${pid}.img`), withMessages(HEAD, [message([1, pid]), ...entries]));
    writeFileSync(join(images, `mm-${pid}.img`), withMessages(HEAD, [Buffer.concat(mappings)]));
    writeFileSync(join(images, `pages-${pid}.img`), "");
    truncateSync(
      join(images, `pages-${pid}.img`),
      runs.reduce((sum, [, bytes]) => sum + bytes, 0),
    );
  }
}

const small: Runs = [[0x1000, PAGE]];
const large: Runs = [
  [0x1000, PAGE],
  [HEAP, 8 * MIB],
  [HEAP + 16 * MIB, 12 * MIB],
  [HEAP + 64 * MIB, PAGE],
];
const heap = mapping(HEAP, 32 * MIB);

test("a large private mapping is left out of the map, and what CRIU still reads keeps its order", () => {
  write([
    { pid: 1, parent: 0, runs: small, mappings: [] },
    { pid: 7, parent: 1, runs: large, mappings: [heap] },
  ]);
  const [found, ...others] = lazyProcessesIn(images);
  expect(others).toEqual([]);
  expect({ ...found, pagemap: readPages(found?.pagemap ?? HEAD, "pagemap").runs }).toEqual({
    ...{ pid: 7, pagesId: 7, mappings: [{ start: HEAP, length: 32 * MIB }] },
    missing: [
      { start: HEAP, length: 8 * MIB, offset: PAGE },
      { start: HEAP + 16 * MIB, length: 12 * MIB, offset: PAGE + 8 * MIB },
    ],
    kept: [
      { offset: 0, length: PAGE },
      { offset: PAGE + 20 * MIB, length: PAGE },
    ],
    pagemap: [
      { address: 0x1000, at: 0, count: 1 },
      { address: HEAP + 64 * MIB, at: 1, count: 1 },
    ],
  });
});

const PARENT = { pid: 1, parent: 0, runs: small, mappings: [] };
test.each([
  ["a process with little memory", [PARENT, { pid: 7, parent: 1, runs: large.slice(0, 2), mappings: [heap] }]],
  ["a mapping that is shared", [PARENT, { pid: 7, parent: 1, runs: large, mappings: [mapping(HEAP, 32 * MIB, { status: 257 })] }]],
  ["a stack, which grows", [PARENT, { pid: 7, parent: 1, runs: large, mappings: [mapping(HEAP, 32 * MIB, { flags: 0x122 })] }]],
  ["locked memory", [PARENT, { pid: 7, parent: 1, runs: large, mappings: [mapping(HEAP, 32 * MIB, { flags: 0x2022 })] }]],
  ["memory that cannot be written", [PARENT, { pid: 7, parent: 1, runs: large, mappings: [mapping(HEAP, 32 * MIB, { protection: 1 })] }]],
  [
    "what it shares with its parent",
    [
      { ...PARENT, runs: large, mappings: [heap] },
      { pid: 7, parent: 1, runs: large, mappings: [heap] },
    ],
  ],
  ["a piece that goes on into another mapping", [PARENT, { pid: 7, parent: 1, runs: large, mappings: [mapping(HEAP, 20 * MIB)] }]],
])("%s is not left out", (_, processes) => {
  write(processes);
  expect(lazyProcessesIn(images)).toEqual([]);
});

test("what the server copies for CRIU is bounded for all processes together", () => {
  const runs: Runs = [[0x1000, 20 * MIB], ...large.slice(1)];
  const worker = { parent: 1, runs, mappings: [heap] };
  write([PARENT, { pid: 7, ...worker }, { pid: 8, ...worker }]);
  expect(lazyProcessesIn(images).map(({ pid }) => pid)).toEqual([7]);
});
