import { afterAll, beforeAll, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { newSandboxId } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import type { ImageRef, SandboxDriver, SandboxHandle } from "@boxyard/driver";
import { openLocalDriver } from "@boxyard/driver-local";
import { makeTestDataDir, type TestDataDir } from "@boxyard/driver-local/setup";
import { collectLayers, Pins } from "@boxyard/server/images";
import {
  Downloads,
  exportArchive,
  FetchPolicy,
  type ImageSettings,
  importArchive,
  parseImageReference,
  pullImage,
  pushImage,
  Transport,
} from "@boxyard/server/registry";
import { PREPARED_POOL } from "../../packages/driver-local/src/testing/config.ts";
import { NO_SETTINGS } from "../../packages/server/src/registry/testing/no-settings.ts";
import { startRegistry, type TestRegistry } from "../../packages/server/src/registry/testing/registry-process.ts";
import { tinyTar } from "../support/tiny-image.ts";

/*
 * Real layers, a real registry: what a sandbox has changed goes out, is forgotten, comes back, and a sandbox stands on it. The layer below is small, since
 * the time to compress the default template's would be all that this test takes.
 */

const signal = new AbortController().signal;
const INIT_KEY = "0123456789abcdef0123456789abcdef";
const settings: ImageSettings = { ...NO_SETTINGS, user: "user", workdir: "/home/user", env: { A: "b" } };

let directory: TestDataDir;
let driver: SandboxDriver;
let registry: TestRegistry;
/** The layer below, and a file of it that takes many reads and writes on each way. */
let below: string;
const LARGE = randomBytes(8 << 20);

beforeAll(async () => {
  directory = await makeTestDataDir(PREPARED_POOL === undefined ? {} : { prepared: PREPARED_POOL });
  driver = await openLocalDriver({ dataDir: directory.dataDir, logger: silentLogger });
  const tar = await tinyTar((tree) => writeFileSync(join(tree, "large"), LARGE));
  below = (await driver.images.importLayer(new Blob([tar]).stream(), { signal })).digest;
  registry = await startRegistry();
}, 600_000);
afterAll(async () => {
  await registry?.[Symbol.asyncDispose]();
  for (const handle of (await driver?.list()) ?? []) await driver.destroy(handle);
  await driver?.release();
  await directory?.remove();
}, 60_000);

async function boot(image: ImageRef): Promise<SandboxHandle> {
  const spec = {
    sandboxId: newSandboxId(),
    incarnation: 1,
    image,
    hostname: "test",
    resources: { cpuCount: 1, memoryBytes: 256 << 20, diskBytes: 256 << 20, maxProcesses: 64 },
    network: { internetAccess: false },
    agent: { initKey: INIT_KEY },
    labels: {},
  };
  const handle = await driver.create(spec, signal);
  await driver.start(handle, signal);
  const headers = { "x-init-key": INIT_KEY, "content-type": "application/json" };
  const response = await fetch(await agentUrl(handle, "/init"), { method: "POST", headers, body: JSON.stringify({ defaultUser: "root" }) });
  expect(response.status).toBe(204);
  return handle;
}

async function agentUrl(handle: SandboxHandle, path: string): Promise<string> {
  const { host, agentPort } = await driver.address(handle);
  return `http://${host}:${agentPort}${path}`;
}

async function read(handle: SandboxHandle, path: string): Promise<Buffer> {
  return Buffer.from(await (await fetch(await agentUrl(handle, `/files?path=${path}&username=root`))).arrayBuffer());
}

/** Writes a file that the layer of the sandbox's changes has. */
async function writeNote(handle: SandboxHandle, text: string): Promise<void> {
  const headers = { "content-type": "application/octet-stream" };
  const url = await agentUrl(handle, "/files?path=/opt/note&username=root");
  expect((await fetch(url, { method: "POST", headers, body: text })).status).toBe(200);
}

/** A sandbox on the image has the files of both layers. */
async function hasAll(handle: SandboxHandle, text: string): Promise<void> {
  expect((await read(handle, "/opt/note")).toString()).toBe(text);
  expect((await read(handle, "/large")).equals(LARGE)).toBe(true);
}

test("a committed layer goes out to a registry and an archive, and comes back as it was", async () => {
  const { images } = driver;
  const pins = new Pins();
  const transport = new Transport({ fetchPolicy: new FetchPolicy({ privateRegistries: ["127.0.0.1"] }) });
  const work = join(directory.dataDir, "downloads");
  const word = crypto.randomUUID();
  const first = await boot({ digest: below, layers: [below] });
  await writeNote(first, word);
  await driver.freeze(first);
  const { digest: step } = await images.commit(first, { signal });
  await driver.destroy(first);

  const image = { layers: [below, step], settings };
  const reference = parseImageReference(`${registry.host}/team/app:v1`);
  const pushed = await pushImage({ reference, image, images, transport, directory: work, signal });
  const archive = await exportArchive({ image, images, signal });
  const archivePath = join(directory.dataDir, "image.tar");
  await Bun.write(archivePath, new Response(archive.tar));

  // Nobody refers to any of it: gone, with the default template.
  const all = (await images.listLayers()).map(({ digest }) => digest);
  expect(all).toEqual(expect.arrayContaining([...image.layers]));
  const collected = await collectLayers({ images, pins, referenced: async () => new Set(), signal });
  expect([...collected.removed].sort()).toEqual([...all].sort());
  expect(await images.listLayers()).toEqual([]);

  using pulled = await pullImage({ reference, images, pins, transport, downloads: new Downloads(work), signal });
  expect([pulled.image, pulled.settings]).toEqual([{ digest: pushed.digest, layers: image.layers }, settings]);
  const second = await boot(pulled.image);
  await hasAll(second, word);
  // Pinned as the pull's, and a sandbox stands on them.
  expect((await collectLayers({ images, pins, referenced: async () => new Set(), signal })).removed).toEqual([]);
  await driver.destroy(second);
  for (const layer of image.layers) await images.removeLayer(layer);

  using imported = await importArchive({ archive: Bun.file(archivePath).stream(), directory: work, images, pins, signal });
  expect(imported.image).toEqual({ digest: archive.digest, layers: image.layers });
  await hasAll(await boot(imported.image), word);
}, 120_000);
