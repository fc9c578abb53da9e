import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { digestOf, FakeDriver, makeTar } from "@boxyard/driver/fake";
import { tarEnd, tarHeader, tarPadding } from "@boxyard/spec/tar";
import { Pins } from "../images/pins.ts";
import { importArchive } from "./archive-import.ts";
import { MEDIA } from "./manifest.ts";
import { configBytes, manifestBytes } from "./settings.ts";
import { NO_SETTINGS } from "./testing/no-settings.ts";

const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const blob = (bytes: Uint8Array): [string, Uint8Array] => [`blobs/sha256/${digestOf(bytes).slice(7)}`, bytes];
const tarOf = (files: readonly (readonly [string, Uint8Array])[]) =>
  Buffer.concat([
    ...files.flatMap(([path, data]) => [tarHeader({ name: path, size: data.length }), data, tarPadding(data.length)]),
    tarEnd(),
  ]);

const layer = makeTar([{ path: "file", text: "content" }]);
const config = configBytes({ layers: [digestOf(layer)], settings: NO_SETTINGS });
const manifest = manifestBytes(config, [{ mediaType: MEDIA.layer, digest: digestOf(layer), size: layer.length }]);
const indexOf = (digest = digestOf(manifest), size = manifest.length) =>
  json({ schemaVersion: 2, mediaType: MEDIA.index, manifests: [{ mediaType: MEDIA.manifest, digest, size }] });
/** The files of a complete archive; tests remove or replace some. */
const files = (): [string, Uint8Array][] => [
  ["oci-layout", json({ imageLayoutVersion: "1.0.0" })],
  ["index.json", indexOf()],
  blob(manifest),
  blob(config),
  blob(layer),
];

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-archive-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const work = () => join(directory, "work");
function take(bytes: Uint8Array | ReadableStream<Uint8Array>, more: { maxBytes?: number; maxBlobs?: number; signal?: AbortSignal } = {}) {
  const archive = bytes instanceof ReadableStream ? bytes : new Blob([bytes as Uint8Array<ArrayBuffer>]).stream();
  const signal = new AbortController().signal;
  return importArchive({ archive, directory: work(), images: new FakeDriver().images, pins: new Pins(), signal, ...more });
}

test("blobs may come in any order, with other files between them", async () => {
  using installed = await take(tarOf([...files().reverse(), ["manifest.json", json([])], ["./extra/file", json({})]]));
  expect(installed.image.layers).toEqual([digestOf(layer)]);
});

const without = (part: Uint8Array) => files().filter(([, data]) => data !== part);
const evil = new TextEncoder().encode("evil");
const cases: [string, readonly (readonly [string, Uint8Array])[], string][] = [
  ["that lacks its index", files().filter(([path]) => path !== "index.json"), "there is no index.json"],
  ["that lacks its manifest", without(manifest), "lacks the blob"],
  ["that lacks its configuration", without(config), "lacks the blob"],
  ["that lacks a layer", without(layer), "lacks the blob"],
  ["whose index is not JSON", files().map(([path, data]) => [path, path === "index.json" ? evil : data]), "is not JSON"],
  ["whose index leads nowhere", [["index.json", indexOf(`sha256:${"1".repeat(64)}`)]], "lacks the blob"],
  ["whose index names a path", [["index.json", indexOf("sha256:../../../etc/passwd")]], "bad field"],
  ["with a blob of another digest", [...without(layer), [blob(layer)[0], evil]], "of the archive has another digest"],
  ["with a second blob of the same name and another digest", [...files(), [blob(layer)[0], evil]], "of the archive has another digest"],
  ["with an index of many MiB", [["index.json", new Uint8Array(5 << 20)]], "its index is too large"],
];
test.each(cases)("an archive %s is refused, and leaves nothing", async (_, parts, words) => {
  await expect(take(tarOf(parts))).rejects.toThrow(words);
  expect(readdirSync(work())).toEqual([]);
});

test("no name in an archive leads out of its directory", async () => {
  const names = [
    "../escaped",
    "/tmp/boxyard-escaped",
    "blobs/sha256/../../../escaped",
    "blobs/sha256/..",
    `blobs/sha256/../${"1".repeat(64)}`,
  ];
  using installed = await take(tarOf([...names.map((name): [string, Uint8Array] => [name, evil]), ...files()]));
  expect(installed.image.layers).toHaveLength(1);
  expect([readdirSync(directory), readdirSync(work()), existsSync("/tmp/boxyard-escaped")]).toEqual([["work"], [], false]);
});

test("a link with the name of a blob does not count as the blob", async () => {
  const [path] = blob(layer);
  const link = Buffer.from(tarHeader({ name: path, size: 0 }));
  link.write("2", 156, "latin1");
  link.write("/etc/passwd", 157, "latin1");
  link.fill(" ", 148, 156);
  link.write(
    `${link
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, "0")}\0 `,
    148,
    "latin1",
  );
  await expect(take(Buffer.concat([link, tarOf(without(layer))]))).rejects.toThrow("lacks the blob");
});

test("an archive is refused when a header announces too many bytes, before they come", async () => {
  let sent = 0;
  const endless = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        controller.enqueue(sent++ === 0 ? tarHeader({ name: `blobs/sha256/${"1".repeat(64)}`, size: 2 ** 40 }) : new Uint8Array(1 << 20));
      },
    },
    { highWaterMark: 0 },
  );
  await expect(take(endless, { maxBytes: 1 << 30 })).rejects.toMatchObject({ code: "resource_exhausted", reason: "archive_too_large" });
  expect([sent < 5, readdirSync(work())]).toEqual([true, []]);
});

test("an archive of very many blobs is refused", async () => {
  const many = Array.from({ length: 6 }, (_, i) => blob(new TextEncoder().encode(`${i}`)));
  await expect(take(tarOf(many), { maxBlobs: 5 })).rejects.toThrow("more than 5 blobs");
  expect(readdirSync(work())).toEqual([]);
});

test("an import that is cancelled leaves nothing", async () => {
  const abort = new AbortController();
  const bytes = tarOf(files());
  const slow = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        controller.enqueue(bytes.subarray(0, 3000));
        abort.abort(new Error("given up"));
      },
    },
    { highWaterMark: 0 },
  );
  await expect(take(slow, { signal: abort.signal })).rejects.toThrow("given up");
  expect(readdirSync(work())).toEqual([]);
});
