import { expect, test } from "bun:test";
import type { VolumeContent } from "../../storage/volume-content.ts";
import { failure, never, type Subject, TIMEOUT_MS } from "../subject.ts";

const MIB = 1 << 20;

/** Tests the guarantees of `VolumeContent`. */
export function contentTests(subject: Subject): void {
  const promise = (text: string, work: (files: Files) => Promise<void>) =>
    test(
      text,
      async () => {
        const { capabilities, volumes } = subject().driver;
        if (!capabilities.volumes) return;
        await volumes.create("v", { limitBytes: 16 * MIB });
        await work(new Files(volumes.content));
      },
      TIMEOUT_MS,
    );

  writeTests(promise);
  treeTests(promise);
}

class Files {
  readonly content: VolumeContent;

  constructor(content: VolumeContent) {
    this.content = content;
  }

  write(path: string, text: string, options = {}) {
    return this.content.write("v", path, new Blob([text]).stream(), { signal: never, ...options });
  }

  async read(path: string, options = {}): Promise<string> {
    const { stream, lengthBytes } = await this.content.read("v", path, { signal: never, ...options });
    const text = await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).text();
    expect(Buffer.byteLength(text)).toBe(lengthBytes);
    return text;
  }

  async paths(path: string, depth = 1): Promise<string[]> {
    return (await this.content.list("v", path, { depth })).map((entry) => entry.path);
  }
}

type Promising = (text: string, work: (files: Files) => Promise<void>) => void;

function writeTests(promise: Promising): void {
  promise("a file is written, read in parts, and replaced only with force", async (files) => {
    const before = Date.now() - 60_000;
    const entry = await files.write("a.txt", "hello world");
    expect(entry).toMatchObject({ name: "a.txt", path: "/a.txt", type: "file", sizeBytes: 11, mode: 0o644, uid: 0, gid: 0 });
    for (const time of [entry.accessedAt, entry.modifiedAt, entry.changedAt]) expect(time).toBeGreaterThan(before);
    expect(await files.read("/a.txt")).toBe("hello world");
    expect(await files.read("a.txt", { start: 6 })).toBe("world");
    expect(await files.read("a.txt", { start: 0, end: 5 })).toBe("hello");
    expect(await files.read("a.txt", { start: 50, end: 60 })).toBe("");
    expect(await failure(files.write("a.txt", "other"))).toBe("already_exists path_exists");
    expect(await files.write("/a.txt", "", { force: true, uid: 1000, gid: 100, mode: 0o600 })).toMatchObject({
      ...{ sizeBytes: 0, uid: 1000, gid: 100, mode: 0o600 },
    });
    expect(await files.read("a.txt")).toBe("");
  });

  promise("a write that fails or is aborted changes nothing, and cancels its source", async (files) => {
    await files.write("a", "old");
    const reason = new Error("changed my mind");
    let cancelled = 0;
    const source = () => new ReadableStream<Uint8Array>({ cancel: () => void cancelled++ });
    const options = { signal: AbortSignal.abort(reason), force: true };
    expect(await files.content.write("v", "a", source(), options).catch((e: unknown) => e)).toBe(reason);
    expect(await failure(files.content.write("v", "a", source(), { signal: never }))).toBe("already_exists path_exists");
    expect(await failure(files.content.write("v", "no/a", source(), { signal: never, force: true }))).toBe("not_found path_not_found");
    expect(cancelled).toBe(3);
    const broken = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(new TextEncoder().encode("half"));
        controller.error(reason);
      },
    });
    expect(await failure(files.content.write("v", "a", broken, { signal: never, force: true }))).not.toBe("resolved");
    expect(await files.read("a")).toBe("old");
    expect(await files.paths("/")).toEqual(["/a"]);
  });

  promise("bad paths, owners, modes and depths are refused", async (files) => {
    for (const path of ["..", "/a/../b", "a\0b", "x".repeat(5_000), "a/".repeat(257)]) {
      expect(await failure(files.write(path, "x"))).toBe("invalid_argument bad_path");
      expect(await failure(files.content.stat("v", path))).toBe("invalid_argument bad_path");
    }
    for (const attributes of [{ uid: -1 }, { gid: 65_536 }, { mode: 0o10000 }, { uid: 1.5 }]) {
      expect(await failure(files.write("a", "x", attributes))).toBe("invalid_argument bad_attributes");
      expect(await failure(files.content.makeDirectory("v", "d", attributes))).toBe("invalid_argument bad_attributes");
    }
    for (const depth of [0, -1, 257, 1.5]) {
      expect(await failure(files.content.list("v", "/", { depth }))).toBe("invalid_argument bad_depth");
    }
    expect(await files.paths("/")).toEqual([]);
  });
}

function treeTests(promise: Promising): void {
  promise("directories are made, listed to a depth, and removed with what they hold", async (files) => {
    const { content } = files;
    expect(await content.stat("v", "/")).toMatchObject({ path: "/", type: "directory", mode: 0o777, uid: 0 });
    expect(await failure(content.makeDirectory("v", "a/b/c", {}))).toBe("not_found path_not_found");
    const made = await content.makeDirectory("v", "a/b/c", { force: true, uid: 1000, mode: 0o700 });
    expect(made).toMatchObject({ path: "/a/b/c", name: "c", type: "directory", uid: 1000, mode: 0o700 });
    expect(await content.stat("v", "a/b")).toMatchObject({ uid: 0, mode: 0o755 });
    expect(await failure(content.makeDirectory("v", "a/b", {}))).toBe("already_exists path_exists");
    await content.makeDirectory("v", "a/b", { force: true, mode: 0o711 });
    expect(await content.stat("v", "a/b")).toMatchObject({ mode: 0o755 });
    await files.write("a/b/file", "x");
    expect(await files.paths("/")).toEqual(["/a"]);
    expect(await files.paths("a", 2)).toEqual(["/a/b", "/a/b/c", "/a/b/file"]);
    expect(await failure(content.list("v", "a/b/file", { depth: 1 }))).toBe("failed_precondition not_a_directory");
    expect(await failure(content.makeDirectory("v", "a/b/file", { force: true }))).toBe("already_exists path_exists");
    expect(await failure(content.read("v", "a/b", { signal: never }))).toBe("failed_precondition not_a_file");
    expect(await failure(files.write("a/b", "x", { force: true }))).toBe("failed_precondition not_a_file");
    await content.remove("v", "a");
    expect(await failure(content.remove("v", "a"))).toBe("not_found path_not_found");
    expect(await failure(content.remove("v", "/"))).toBe("failed_precondition is_root");
    expect(await files.paths("/", 9)).toEqual([]);
  });

  promise("a file or directory is moved, over another only with force", async (files) => {
    const { content } = files;
    await files.write("a", "one");
    await files.write("b", "two");
    await content.makeDirectory("v", "d/e", { force: true });
    expect(await failure(content.move("v", "a", "b"))).toBe("already_exists path_exists");
    expect(await failure(content.move("v", "none", "c"))).toBe("not_found path_not_found");
    expect(await failure(content.move("v", "a", "none/c"))).toBe("not_found path_not_found");
    expect(await failure(content.move("v", "d", "d/e/f"))).toBe("invalid_argument bad_path");
    expect(await content.move("v", "a", "b", { force: true })).toMatchObject({ path: "/b", type: "file" });
    expect(await files.read("b")).toBe("one");
    await content.move("v", "d", "f");
    expect(await files.paths("/", 2)).toEqual(["/b", "/f", "/f/e"]);
  });

  promise("owner and mode of a file are set", async (files) => {
    await files.write("a", "x");
    expect(await files.content.update("v", "a", { mode: 0o4750, uid: 1000, gid: 1000 })).toMatchObject({
      ...{ mode: 0o4750, uid: 1000, gid: 1000 },
    });
    expect(await files.content.update("v", "a", { uid: 0 })).toMatchObject({ uid: 0, gid: 1000 });
    expect(await failure(files.content.update("v", "none", { mode: 0o600 }))).toBe("not_found path_not_found");
  });
}
