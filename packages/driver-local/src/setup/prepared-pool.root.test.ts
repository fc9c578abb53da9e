import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mountPool, poolPaths, renewPoolId, unmountPool } from "../pool-storage/index.ts";
import { BASE_SEED, InodeSeeds, SEED_STEP, seedAbove } from "../pool-storage/inode-seeds.ts";
import { filesystemId } from "../sys/btrfs.ts";
import { isSetUp } from "./index.ts";
import { readInstance } from "./instance-file.ts";
import { makeTestDataDir, type TestDataDir } from "./test-data-directory.ts";

const prepared = mkdtempSync(join(tmpdir(), "boxyard-prepared-"));
const made: TestDataDir[] = [];

beforeAll(async () => {
  for (let count = 0; count < 2; count++) made.push(await makeTestDataDir({ prepared }));
}, 300_000);

afterAll(async () => {
  for (const data of made) await data.remove();
  rmSync(prepared, { recursive: true, force: true });
}, 120_000);

const idOf = (dataDir: string): string => filesystemId(poolPaths(dataDir).root);

test("two data directories from one prepared pool are complete at the same time, each with its own pool", async () => {
  expect(new Set(made.map(({ dataDir }) => idOf(dataDir))).size).toBe(2);
  const [first, second] = made as [TestDataDir, TestDataDir];
  for (const { config, dataDir } of made) {
    expect(await isSetUp(config)).toBe(true);
    expect(readInstance(dataDir)?.poolId).toBe(idOf(dataDir));
    const seeds = [BASE_SEED, BASE_SEED + 1].map((seed) => `${seed * SEED_STEP}`);
    expect(readdirSync(poolPaths(dataDir).inodeSeeds)).toEqual(expect.arrayContaining(seeds));
    const { layers } = poolPaths(dataDir);
    const ends = readdirSync(layers).map((layer) => new InodeSeeds(dataDir).endOf(`${layers}/${layer}`));
    expect(seedAbove(ends)).toBe(BASE_SEED);
  }
  writeFileSync(join(poolPaths(first.dataDir).root, "mine"), "");
  expect(existsSync(join(poolPaths(second.dataDir).root, "mine"))).toBe(false);
});

test("a pool keeps its new identity when the pool that it was copied from is gone", async () => {
  const [first, second] = made as [TestDataDir, TestDataDir];
  const before = idOf(second.dataDir);
  for (const { dataDir } of [first, second]) await unmountPool(dataDir);
  await mountPool(second.dataDir);
  expect(idOf(second.dataDir)).toBe(before);
  expect(await isSetUp(second.config)).toBe(true);
});

test("a file without a btrfs is refused, and stays as it is", async () => {
  const file = join(prepared, "zeros");
  const zeros = Buffer.alloc(128 * 1024);
  writeFileSync(file, zeros);
  expect(() => renewPoolId(file)).toThrow("there is no btrfs");
  expect(Buffer.from(await Bun.file(file).arrayBuffer()).equals(zeros)).toBe(true);
});
