import { describe, expect, test } from "bun:test";
import { digestOf } from "../fake/make-tar.ts";
import type { LayerSource } from "../images/images.ts";
import { boot, failure, type Subject, never as signal, TIMEOUT_MS } from "./subject.ts";
import { freshTar, streamOf } from "./tars.ts";

/** Proves the guarantees of `ImageDriver`. */
export function imageTests(subject: Subject): void {
  describe("import", () => importTests(subject));
  describe("commit", () => commitTests(subject));
  describe("export and merge", () => exportTests(subject));
}

function importTests(subject: Subject): void {
  const importBytes = (bytes: Uint8Array, expectedDigest?: string) =>
    subject().driver.images.importLayer(streamOf(bytes), { signal, ...(expectedDigest && { expectedDigest }) });

  test("names a layer by the digest of its uncompressed tar, also for compressed sources", async () => {
    const { images } = subject().driver;
    const tar = freshTar();
    const digest = digestOf(tar);
    expect(await images.hasLayer(digest)).toBe(false);
    expect(await failure(images.getLayer(digest))).toBe("not_found layer_not_found");
    let read = 0;
    const layer = await images.importLayer(streamOf(Bun.gzipSync(tar as Uint8Array<ArrayBuffer>)), {
      signal,
      onProgress: (n) => (read = n),
    });
    expect(read).toBe(Bun.gzipSync(tar as Uint8Array<ArrayBuffer>).length);
    expect([layer.digest, layer.sizeBytes]).toEqual([digest, tar.length]);
    expect(Math.abs(layer.createdAt - Date.now())).toBeLessThan(60_000);
    expect(await images.hasLayer(digest)).toBe(true);
    expect(await images.getLayer(digest)).toEqual(layer);
    expect((await images.listLayers()).find((l) => l.digest === digest)).toEqual(layer);
    for (const bytes of [tar, Bun.zstdCompressSync(tar as Uint8Array<ArrayBuffer>)]) expect(await importBytes(bytes)).toEqual(layer);
  });

  test("does not read the source of a layer that it has", async () => {
    const tar = freshTar();
    const layer = await importBytes(tar);
    let cancelled = false;
    const source: LayerSource = new ReadableStream({
      pull: () => new Promise(() => {}),
      cancel: () => {
        cancelled = true;
      },
    });
    expect(await subject().driver.images.importLayer(source, { signal, expectedDigest: layer.digest })).toEqual(layer);
    expect(cancelled).toBe(true);
  });

  test("refuses a source with another digest, an incomplete or a too large one, and leaves nothing", async () => {
    const { images } = subject().driver;
    const before = (await images.listLayers()).length;
    const tar = freshTar();
    expect(await failure(importBytes(tar, `sha256:${"1".repeat(64)}`))).toBe("data_loss bad_digest");
    expect(await failure(importBytes(tar.subarray(0, 700)))).toBe("invalid_argument bad_layer");
    expect(await failure(images.importLayer(streamOf(tar), { signal, maxBytes: 1024 }))).toBe("resource_exhausted layer_too_large");
    expect(await images.hasLayer(digestOf(tar))).toBe(false);
    expect((await images.listLayers()).length).toBe(before);
  });

  test("refuses a path where it cannot open the server's files", async () => {
    const { capabilities, images } = subject().driver;
    if (capabilities.localFiles) return;
    expect(await failure(images.importLayer({ path: "/etc/hostname" }, { signal }))).toBe("unimplemented no_local_files");
  });

  test("leaves nothing when its signal aborts", async () => {
    const { images } = subject().driver;
    const reason = new Error("changed my mind");
    const tar = freshTar();
    expect(await images.importLayer(streamOf(tar), { signal: AbortSignal.abort(reason) }).catch((e: unknown) => e)).toBe(reason);
    expect(await images.hasLayer(digestOf(tar))).toBe(false);
  });

  test(
    "concurrent imports of one tar make one layer",
    async () => {
      const tar = freshTar();
      const layers = await Promise.all([importBytes(tar), importBytes(tar), importBytes(tar)]);
      expect(new Set(layers.map((l) => l.digest))).toEqual(new Set([digestOf(tar)]));
    },
    TIMEOUT_MS,
  );
}

const textOf = (bytes: Uint8Array) => new TextDecoder("latin1").decode(bytes);

function commitTests(subject: Subject): void {
  const exported = async (digest: string) => new Response(await subject().driver.images.exportLayer(digest, { signal })).bytes();

  test(
    "holds what was written, and leaves the sandbox unchanged",
    async () => {
      const { driver } = subject();
      const handle = await boot(subject());
      const word = crypto.randomUUID();
      await subject().write(handle, "/opt/note", word);
      await subject().write(handle, "/opt/secret/key", `secret ${word}`);
      expect(await failure(driver.images.commit(handle, { signal }))).toBe("failed_precondition sandbox_running");
      await driver.freeze(handle);
      const layer = await driver.images.commit(handle, { signal, leaveOut: ["/opt/secret"] });
      const tar = await exported(layer.digest);
      expect([digestOf(tar), tar.length]).toEqual([layer.digest, layer.sizeBytes]);
      expect(textOf(tar)).toContain(word);
      expect(textOf(tar)).not.toContain("secret");
      expect((await driver.images.commit(handle, { signal, leaveOut: ["/opt/secret"] })).digest).toBe(layer.digest);
      expect((await driver.inspect(handle)).frozen).toBe(true);
      await driver.thaw(handle);
      await subject().write(handle, "/opt/more", "more");
      await driver.freeze(handle);
      const more = await driver.images.commit(handle, { signal });
      expect(more.digest).not.toBe(layer.digest);
      expect(textOf(await exported(more.digest))).toContain(word);
    },
    TIMEOUT_MS,
  );

  test(
    "a sandbox on the new layer has its files",
    async () => {
      const { driver } = subject();
      const spec = subject().spec();
      const first = await boot(subject(), spec);
      await subject().write(first, "/opt/note", "from the first");
      await driver.freeze(first);
      const { digest } = await driver.images.commit(first, { signal });
      await driver.destroy(first);
      const second = await boot(subject(), { ...subject().spec(), image: { ...spec.image, layers: [...spec.image.layers, digest] } });
      expect(await subject().read(second, "/opt/note")).toBe("from the first");
    },
    TIMEOUT_MS,
  );

  test(
    "works on a sandbox that was never started, and is not_found without a sandbox",
    async () => {
      const { driver } = subject();
      const handle = await driver.create(subject().spec(), signal);
      const { digest } = await driver.images.commit(handle, { signal });
      expect(digestOf(await exported(digest))).toBe(digest);
      await driver.destroy(handle);
      expect((await failure(driver.images.commit(handle, { signal }))).split(" ")[0]).toBe("not_found");
    },
    TIMEOUT_MS,
  );

  test(
    "refuses a layer above maxBytes, and leaves nothing",
    async () => {
      const { driver } = subject();
      const handle = await boot(subject());
      await subject().write(handle, "/opt/big", crypto.randomUUID().repeat(1000));
      await driver.freeze(handle);
      const before = (await driver.images.listLayers()).length;
      expect(await failure(driver.images.commit(handle, { signal, maxBytes: 10_240 }))).toBe("resource_exhausted layer_too_large");
      expect((await driver.images.listLayers()).length).toBe(before);
    },
    TIMEOUT_MS,
  );
}

function exportTests(subject: Subject): void {
  const importTar = (tar: Uint8Array) => subject().driver.images.importLayer(streamOf(tar), { signal });

  test("exports exactly the bytes that were imported", async () => {
    const { images } = subject().driver;
    const tar = freshTar({ path: "./odd/./path", text: "y" }, { path: "name", text: "again" });
    const { digest } = await importTar(tar);
    expect(await new Response(await images.exportLayer(digest, { signal })).bytes()).toEqual(tar as Uint8Array<ArrayBuffer>);
    expect(await failure(images.exportLayer(`sha256:${"2".repeat(64)}`, { signal }))).toBe("not_found layer_not_found");
  });

  test("tells which paths a layer changes", async () => {
    const { images } = subject().driver;
    const file = (path: string) => ({ path, text: "x" });
    const { digest } = await importTar(freshTar(file("usr/local/bin/tool"), file("etc/.wh.gone"), file("home/user")));
    const paths = ["/usr/local", "/etc/gone", "/home/user/below", "/opt/tool", "/opt/other", "/usr/share", "/etc/passwd", "/code"];
    expect(await images.changedPaths(digest, paths)).toEqual(paths.slice(0, 4));
    expect(await failure(images.changedPaths(`sha256:${"2".repeat(64)}`, paths))).toBe("not_found layer_not_found");
  });

  test("merges layers into one", async () => {
    const { images } = subject().driver;
    const row = [await importTar(freshTar()), await importTar(freshTar())].map((l) => l.digest);
    const merged = await images.mergeLayers(row, { signal });
    expect(row).not.toContain(merged.digest);
    expect(digestOf(await new Response(await images.exportLayer(merged.digest, { signal })).bytes())).toBe(merged.digest);
    expect(await failure(images.mergeLayers([`sha256:${"3".repeat(64)}`], { signal }))).toBe("not_found layer_not_found");
  });
}
