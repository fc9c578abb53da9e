import assert from "node:assert/strict";
import type * as Sdk from "../../index.ts";
import { type Case, failure, until } from "../bench.ts";

const MIB = 1 << 20;

/** Bytes whose order shows. */
function pattern(length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i += 4096) bytes[i] = (i / 4096) % 251;
  return bytes;
}

const same = (a: Uint8Array | undefined, b: Uint8Array) => a !== undefined && Buffer.compare(a, b) === 0;

function streamOf(bytes: Uint8Array, piece = 300_000): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, at + piece));
      at += piece;
    },
  });
}

/** Uploads in parts. The fake agent keeps its files in `platform.files`. */
export const UPLOAD_CASES: readonly Case[] = [
  [
    "large data goes in parts, in order, with progress, and leaves nothing else behind",
    async ({ sandbox, platform }) => {
      const bytes = pattern(41 * MIB + 5);
      for (const data of [bytes, new Blob([bytes]), streamOf(bytes), bytes.buffer]) {
        const seen: Sdk.UploadProgress[] = [];
        const info = await sandbox.files.write("dir/big", data, { onProgress: async (progress) => void seen.push(progress) });
        assert.equal(info.path, "dir/big");
        assert.ok(same(platform.files.get("dir/big"), bytes));
        const totalBytes = data instanceof ReadableStream ? undefined : bytes.length;
        assert.ok(seen.length >= 6 && seen.every(({ sentBytes }, i) => sentBytes > (seen[i - 1]?.sentBytes ?? 0)));
        assert.deepEqual(seen.at(-1), { sentBytes: bytes.length, totalBytes });
        assert.deepEqual([...platform.files.keys()], ["dir/big"]);
        platform.files.clear();
      }
    },
  ],
  [
    "progress of a text counts the bytes that it is sent as, never more than all of them",
    async ({ sandbox, platform }) => {
      for (const text of ["ä€😀", "ä€😀".repeat(200_000)]) {
        const seen: Sdk.UploadProgress[] = [];
        await sandbox.files.write("text", text, { onProgress: (progress) => void seen.push(progress) });
        const totalBytes = Buffer.byteLength(text);
        assert.deepEqual(seen.at(-1), { sentBytes: totalBytes, totalBytes });
        assert.ok(seen.every((progress) => progress.totalBytes === totalBytes && progress.sentBytes <= totalBytes));
        assert.equal(platform.files.get("text")?.length, totalBytes);
      }
    },
  ],
  [
    "a part whose connection fails is sent again",
    async ({ sandbox, platform }) => {
      const bytes = pattern(20 * MIB);
      platform.cutUploads = 2;
      await sandbox.files.write("big", bytes);
      assert.ok(same(platform.files.get("big"), bytes));
    },
  ],
  [
    "a failed upload leaves no parts and the old file, and gives the first cause",
    async ({ sdk, sandbox, platform }) => {
      await sandbox.files.write("big", "old");
      const mine = new Error("mine");
      const onProgress = () => Promise.reject(mine);
      assert.equal(await failure(sandbox.files.write("big", pattern(20 * MIB), { onProgress }), Error), mine);
      const broken = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(pattern(20 * MIB)),
        pull: () => Promise.reject(mine),
      });
      assert.equal(await failure(sandbox.files.write("big", broken), Error), mine);
      platform.cutUploads = 1000;
      await failure(sandbox.files.write("big", pattern(20 * MIB)), sdk.ConnectionError);
      platform.cutUploads = 0;
      assert.deepEqual([...platform.files.keys()], ["big"]);
      assert.equal(await sandbox.files.read("big"), "old");
    },
  ],
  [
    "abort ends an upload whose stream gives nothing more",
    async ({ sdk, sandbox, platform }) => {
      let cancelled = false;
      for (const start of [pattern(MIB), pattern(20 * MIB)]) {
        const silent = new ReadableStream<Uint8Array>({
          start: (controller) => controller.enqueue(start),
          cancel: () => {
            cancelled = true;
          },
        });
        const controller = new AbortController();
        const abort = () => setTimeout(() => controller.abort("enough"), 100);
        // Of the second stream, whole parts are there before that.
        const onProgress = ({ sentBytes }: Sdk.UploadProgress) => void (sentBytes > MIB && abort());
        if (start.length === MIB) abort();
        const error = await failure(sandbox.files.write("big", silent, { signal: controller.signal, onProgress }), sdk.AbortError);
        assert.deepEqual([error.cause, cancelled], ["enough", true]);
        await until(() => platform.files.size === 0);
      }
    },
  ],
  [
    "what is small, or has metadata, goes in one request",
    async ({ sandbox, platform }) => {
      const seen: Sdk.UploadProgress[] = [];
      const onProgress = (progress: Sdk.UploadProgress) => void seen.push(progress);
      await sandbox.files.write("a", "text", { onProgress });
      await sandbox.files.write("b", streamOf(pattern(5)), { onProgress });
      await sandbox.files.write("c", streamOf(new Uint8Array()), { onProgress });
      await sandbox.files.write("d", pattern(20 * MIB), { onProgress, metadata: { a: "b" } });
      assert.deepEqual(
        seen.map(({ sentBytes }) => sentBytes),
        [4, 5, 0, 20 * MIB],
      );
      assert.deepEqual(
        [...platform.files].map(([name, { length }]) => [name, length]),
        [
          ["a", 4],
          ["b", 5],
          ["c", 0],
          ["d", 20 * MIB],
        ],
      );
    },
  ],
];
