import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newSandboxId } from "@boxyard/core";
import { SnapshotFiles } from "../checkpoint-store/snapshot-files.ts";
import { LayerStore } from "../images/layer-store.ts";
import { InodeSeeds } from "./inode-seeds.ts";
import { poolPaths } from "./paths.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
const signal = new AbortController().signal;
const dataDir = mkdtempSync(join(tmpdir(), "boxyard-mounted-"));
afterAll(() => rmSync(dataDir, { recursive: true }));

/* A pool that is not mounted is an empty directory of the machine's disk. */
const paths = poolPaths(dataDir);
mkdirSync(paths.root);
writeFileSync(join(dataDir, "tar"), "");
const layers = new LayerStore(dataDir);
const snapshots = new SnapshotFiles(paths.snapshots);
const CALLS: readonly (readonly [string, () => unknown])[] = [
  ["whether there is a layer", () => layers.has(DIGEST)],
  ["for a layer", () => layers.get(DIGEST)],
  ["for all layers", () => layers.list()],
  ["to remove a layer", () => layers.remove(DIGEST)],
  ["to make a layer", () => layers.import({ path: join(dataDir, "tar") }, { signal })],
  ["for a seed", () => new InodeSeeds(dataDir).get(1)],
  ["for a snapshot", () => snapshots.find("s")],
  ["for all snapshots", () => snapshots.list()],
  ["to begin a snapshot", () => snapshots.begin("s", { sandboxId: newSandboxId(), wasFrozen: false })],
  ["to hide a snapshot", () => snapshots.hide("s")],
  ["to remove a snapshot", () => snapshots.remove("s")],
];

test.each(CALLS)(
  "asked %s while it is not mounted, a pool answers `pool_not_mounted`, and nothing is made in its place",
  async (_what, ask) => {
    const answer = await (async () => ask())().catch((error: unknown) => error);
    expect(answer).toMatchObject({ code: "unavailable", reason: "pool_not_mounted" });
    expect(readdirSync(paths.root)).toEqual([]);
  },
);
