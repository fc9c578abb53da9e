import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ImageStore } from "@boxyard/driver";
import { digestOf, FakeDriver, makeTar } from "@boxyard/driver/fake";
import { Pins } from "../images/pins.ts";
import {
  Downloads,
  exportArchive,
  FetchPolicy,
  type ImageFacts,
  importArchive,
  type PushProgress,
  parseImageReference,
  pullImage,
  pushImage,
  Transport,
} from "./index.ts";
import { startRegistry, type TestRegistry } from "./testing/registry-process.ts";

const signal = new AbortController().signal;
const login = { username: "tester", password: "a secret:with a colon" };
const credentials = { type: "registry", ...login } as const;
const transport = new Transport({ fetchPolicy: new FetchPolicy({ privateRegistries: ["127.0.0.1"] }) });
const settings: ImageFacts["settings"] = {
  user: "1000:1000",
  workdir: "/srv",
  env: { PATH: "/bin", GREETING: "hello=you" },
  entrypoint: ["/bin/app"],
  cmd: ["--serve"],
  shell: [],
  labels: { maker: "tests" },
  exposedPorts: ["80/tcp"],
  stopSignal: "SIGINT",
};

let open: TestRegistry;
let closed: TestRegistry;
let directory: string;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-blobs-"));
  [open, closed] = await Promise.all([startRegistry(), startRegistry({ login })]);
});
afterAll(async () => {
  await Promise.all([open?.[Symbol.asyncDispose](), closed?.[Symbol.asyncDispose]()]);
  rmSync(directory, { recursive: true, force: true });
});

const newStore = (): ImageStore => new FakeDriver().images;
const stream = (bytes: Uint8Array) => new Blob([bytes as Uint8Array<ArrayBuffer>]).stream();

async function makeImage(images: ImageStore, texts: readonly string[]): Promise<ImageFacts> {
  const layers: string[] = [];
  for (const text of texts) layers.push((await images.importLayer(stream(makeTar([{ path: "file", text }])), { signal })).digest);
  return { layers, settings };
}

const at = (registry: TestRegistry, name: string) => parseImageReference(`${registry.host}/${name}`);
const push = (images: ImageStore, image: ImageFacts, registry: TestRegistry, name: string, more = {}) =>
  pushImage({ reference: at(registry, name), image, images, transport, directory, signal, credentials, ...more });
const pull = (images: ImageStore, registry: TestRegistry, name: string, more = {}) =>
  pullImage({
    reference: at(registry, name),
    images,
    pins: new Pins(),
    transport,
    downloads: new Downloads(directory),
    signal,
    credentials,
    ...more,
  });

test.each(["open", "closed"])("what is pushed to a registry (%s) can be pulled by tag and by digest", async (kind) => {
  const registry = kind === "open" ? open : closed;
  const images = newStore();
  const image = await makeImage(images, [crypto.randomUUID(), crypto.randomUUID()]);
  const told: PushProgress[] = [];
  const pushed = await push(images, image, registry, "team/app:v1", { onProgress: (p: PushProgress) => told.push(p) });
  expect(told[0]).toEqual({ layersDone: 0, layers: 2, bytesDone: 0, bytes: 4096, bytesSent: 0 });
  expect(told.at(-1)).toMatchObject({ layersDone: 2, bytesDone: 4096 });
  expect(told.at(-1)?.bytesSent).toBeGreaterThan(0);
  for (const name of ["team/app:v1", `team/app@${pushed.digest}`]) {
    const other = newStore();
    const pins = new Pins();
    const seen: { layersDone: number; bytesDone: number; bytes: number }[] = [];
    const pulled = await pull(other, registry, name, { pins, onProgress: (p: (typeof seen)[number]) => seen.push(p) });
    expect(pulled.image).toEqual({ digest: pushed.digest, layers: image.layers });
    expect(pulled.settings).toEqual(settings);
    expect(pulled.blobs).toEqual(pushed.blobs);
    expect(seen.at(-1)).toMatchObject({ layersDone: 2, layers: 2, bytesDone: seen.at(-1)?.bytes });
    expect(image.layers.map((digest) => pins.isPinned(digest))).toEqual([true, true]);
    pulled[Symbol.dispose]();
    expect(pins.isPinned(image.layers[0] as string)).toBe(false);
    for (const digest of image.layers) expect(await other.hasLayer(digest)).toBe(true);
  }
  expect(readdirSync(directory)).toEqual([]);
});

test("wrong and missing credentials, missing images and unreachable registries have different errors", async () => {
  const images = newStore();
  const image = await makeImage(images, ["x"]);
  const denied = { code: "permission_denied", reason: "registry_denied" };
  await expect(push(images, image, closed, "team/app", { credentials: { ...credentials, password: "wrong" } })).rejects.toMatchObject(
    denied,
  );
  await expect(pull(images, closed, "team/app:v1", { credentials: undefined })).rejects.toMatchObject(denied);
  await expect(pull(images, open, "team/nothing")).rejects.toMatchObject({ code: "not_found", reason: "image_not_found" });
  const nobody = parseImageReference("127.0.0.1:1/app");
  await expect(pull(images, open, "x", { reference: nobody })).rejects.toMatchObject({
    code: "unavailable",
    reason: "registry_unreachable",
  });
});

test("a layer that the registry has is not sent again, nor one that another repository of it has", async () => {
  const images = newStore();
  const image = await makeImage(images, [crypto.randomUUID().repeat(5000)]);
  const first = await push(images, image, open, "one/app");
  const [layer] = image.layers as [string];
  const told: PushProgress[] = [];
  const onProgress = (p: PushProgress) => told.push(p);
  await push(images, image, open, "one/app:again", { onProgress });
  expect(told.splice(0).at(-1)).toMatchObject({ bytesSent: 0, layersDone: 1 });
  const blobs = new Map([[layer, { ...first.blobs.get(layer), repository: "one/app" }]]);
  const unpackable: ImageStore = Object.assign(Object.create(images), { exportLayer: () => Promise.reject(new Error("packed")) });
  const mounted = await push(unpackable, image, open, "two/app", {
    blobs,
    onProgress,
  });
  expect(mounted.digest).toBe(first.digest);
  expect(told.at(-1)).toMatchObject({ bytesSent: 0, bytesDone: told[0]?.bytes });
  expect((await pull(newStore(), open, "two/app")).image.digest).toBe(first.digest);
});

test("a layer larger than one piece arrives whole", async () => {
  const images = newStore();
  // Noise cannot be compressed.
  const tar = new Uint8Array(33 << 20);
  for (let offset = 0; offset < tar.length; offset += 65536) crypto.getRandomValues(tar.subarray(offset, offset + 65536));
  const { digest } = await images.importLayer(stream(tar), { signal });
  const pushed = await push(images, { layers: [digest], settings }, open, "big/app");
  expect(pushed.blobs.get(digest)?.size).toBeGreaterThan(32 << 20);
  const other = newStore();
  await pull(other, open, "big/app");
  expect(await other.hasLayer(digest)).toBe(true);
}, 60_000);

test("an exported archive is imported as the same image", async () => {
  const images = newStore();
  const image = await makeImage(images, [crypto.randomUUID(), crypto.randomUUID()]);
  const { digest, tar } = await exportArchive({ image, images, signal, name: "app:v1" });
  const bytes = await new Response(tar).bytes();
  const again = await exportArchive({ image, images, signal, name: "app:v1" });
  expect(digestOf(await new Response(again.tar).bytes())).toBe(digestOf(bytes));
  const other = newStore();
  using installed = await importArchive({ archive: stream(bytes), directory, images: other, pins: new Pins(), signal });
  expect(installed.image).toEqual({ digest, layers: image.layers });
  expect(installed.settings).toEqual(settings);
  const broken = bytes.slice();
  broken[broken.lastIndexOf(0x75)] = 0x76;
  await expect(importArchive({ archive: stream(broken), directory, images: newStore(), pins: new Pins(), signal })).rejects.toMatchObject({
    reason: "bad_digest",
  });
  await expect(
    importArchive({ archive: stream(bytes.subarray(0, bytes.length / 2)), directory, images: newStore(), pins: new Pins(), signal }),
  ).rejects.toMatchObject({ reason: "bad_image" });
  expect(readdirSync(directory)).toEqual([]);
});
