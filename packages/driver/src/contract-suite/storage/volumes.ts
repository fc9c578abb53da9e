import { expect, test } from "bun:test";
import type { VolumeMount } from "../../storage/volume-mounts.ts";
import { boot, failure, health, never, reasonOf, type Subject, TIMEOUT_MS } from "../subject.ts";
import { contentTests } from "./volume-content.ts";

const MIB = 1 << 20;
const LIMIT = { limitBytes: 16 * MIB };
const DATA: VolumeMount = { volume: "v", path: "/data", readOnly: false };

/** Tests the guarantees of `VolumeStore` without sandboxes. */
export function volumeTests(subject: Subject): void {
  storeTests(subject);
  archiveTests(subject);
  contentTests(subject);
}

/** Tests `SandboxSpec.volumes`. */
export function volumeMountTests(subject: Subject): void {
  mountTests(subject);
  lifeTests(subject);
}

/** A test where the driver has the capability; else a test that it refuses. */
function promise(subject: Subject, text: string, work: () => Promise<void>): void {
  test(text, () => (subject().driver.capabilities.volumes ? work() : sayNo(subject)), TIMEOUT_MS);
}

async function sayNo(subject: Subject): Promise<void> {
  const { volumes } = subject().driver;
  expect(await reasonOf(volumes.create("v", LIMIT))).toBe("volumes_unimplemented");
  expect(await reasonOf(volumes.content.stat("v", "/"))).toBe("volumes_unimplemented");
  expect(await volumes.list()).toEqual([]);
}

function storeTests(subject: Subject): void {
  promise(subject, "a volume is listed until it is removed, also by a new driver", async () => {
    const made = await subject().driver.volumes.create("v", LIMIT);
    expect(made).toMatchObject({ id: "v", ...LIMIT });
    expect(await failure(subject().driver.volumes.create("v", LIMIT))).toBe("already_exists volume_exists");
    await subject().reopen();
    const { volumes } = subject().driver;
    expect((await volumes.list()).map(({ id }) => id)).toEqual(["v"]);
    expect(await volumes.get("v")).toMatchObject({ id: "v", ...LIMIT, createdAt: made.createdAt });
    for (let i = 0; i < 2; i++) await volumes.remove("v");
    expect(await volumes.list()).toEqual([]);
    expect(await volumes.get("v")).toBeUndefined();
  });

  promise(subject, "bad ids and limits, and volumes that do not exist", async () => {
    const { volumes } = subject().driver;
    for (const id of ["", "..", "A", "a/b", "x".repeat(65)])
      expect(await failure(volumes.create(id, LIMIT))).toBe("invalid_argument bad_volume_id");
    expect(await failure(volumes.create("v", { limitBytes: 1 }))).toBe("invalid_argument bad_volume_limit");
    expect(await failure(volumes.create("v", { ...LIMIT, from: "none" }))).toBe("not_found volume_not_found");
    expect(await failure(volumes.resize("none", 16 * MIB))).toBe("not_found volume_not_found");
    expect(await failure(volumes.content.stat("none", "/"))).toBe("not_found volume_not_found");
    expect(await volumes.list()).toEqual([]);
  });

  promise(subject, "a volume takes no more than its limit, which can be raised and lowered", async () => {
    const { volumes } = subject().driver;
    await volumes.create("v", { limitBytes: 4 * MIB });
    const put = (name: string, mebibytes: number) =>
      volumes.content.write("v", name, new Blob([new Uint8Array(mebibytes * MIB)]).stream(), { signal: never });
    await put("one", 3);
    expect(await failure(put("two", 3))).toBe("resource_exhausted volume_full");
    expect((await volumes.content.list("v", "/", { depth: 1 })).map(({ name }) => name)).toEqual(["one"]);
    expect(await volumes.resize("v", 12 * MIB)).toMatchObject({ limitBytes: 12 * MIB });
    await put("two", 3);
    expect((await volumes.get("v"))?.usedBytes).toBeGreaterThanOrEqual(6 * MIB);
    expect(await failure(volumes.resize("v", 4 * MIB))).toBe("failed_precondition volume_too_small");
    await volumes.content.remove("v", "two");
    expect(await volumes.get("v")).toMatchObject({ limitBytes: 12 * MIB });
  });

  promise(subject, "a copy begins with what the volume held, and both change apart", async () => {
    const { volumes } = subject().driver;
    await volumes.create("v", LIMIT);
    await write(subject, "v", "/note", "first");
    await volumes.content.write("v", "large", new Blob([new Uint8Array(3 * MIB)]).stream(), { signal: never });
    expect(await failure(volumes.create("w", { limitBytes: MIB, from: "v" }))).toBe("failed_precondition volume_too_small");
    expect((await volumes.create("w", { ...LIMIT, from: "v" })).usedBytes).toBeGreaterThanOrEqual(3 * MIB);
    await write(subject, "v", "/note", "second");
    await volumes.remove("v");
    expect(await text(subject, "w", "/note")).toBe("first");
  });

  promise(subject, "a damaged one is listed, used by nothing, and used after a repair", async () => {
    await subject().driver.volumes.create("v", LIMIT);
    await subject().damage({ volume: "v" });
    await subject().reopen();
    const { driver } = subject();
    expect(await driver.volumes.list()).toMatchObject([{ id: "v", damaged: true }]);
    for (const call of [() => driver.volumes.get("v"), () => driver.volumes.content.stat("v", "/")]) {
      expect([String(call), await failure(call())]).toEqual([String(call), "data_loss bad_volume"]);
    }
    await subject().mend();
    expect(await driver.volumes.get("v")).toMatchObject({ id: "v" });
    await subject().damage({ volume: "v" });
    await driver.volumes.remove("v");
    expect(await driver.volumes.list()).toEqual([]);
  });
}

function archiveTests(subject: Subject): void {
  promise(subject, "an archive of a volume makes another one with its files, modes and owners", async () => {
    const { volumes } = subject().driver;
    await volumes.create("v", LIMIT);
    await volumes.content.makeDirectory("v", "/sub", { uid: 1000, gid: 1000, mode: 0o750 });
    await volumes.content.write("v", "/sub/note", new Blob(["kept"]).stream(), { signal: never, uid: 5, gid: 6, mode: 0o600 });
    const archive = { source: await volumes.export("v", never), signal: never };
    await volumes.create("w", { ...LIMIT, archive });
    expect(await text(subject, "w", "/sub/note")).toBe("kept");
    const facts = (await volumes.content.list("w", "/", { depth: 2 })).map(({ path, type, uid, gid, mode }) => [
      path,
      type,
      uid,
      gid,
      mode,
    ]);
    expect(facts).toEqual([
      ["/sub", "directory", 1000, 1000, 0o750],
      ["/sub/note", "file", 5, 6, 0o600],
    ]);
  });

  promise(subject, "what is not a tar, is too large or does not come whole makes no volume", async () => {
    const { volumes } = subject().driver;
    const make = (limitBytes: number, bytes: BlobPart, signal = never) =>
      failure(volumes.create("w", { limitBytes, archive: { source: new Blob([bytes]).stream(), signal } }));
    expect(await make(MIB, "this is no tar, however long it may be".repeat(40))).toBe("invalid_argument bad_archive");
    await volumes.create("v", { limitBytes: 16 * MIB });
    await volumes.content.write("v", "large", new Blob([new Uint8Array(3 * MIB).fill(7)]).stream(), { signal: never });
    const tar = await new Response((await volumes.export("v", never)) as ReadableStream<Uint8Array<ArrayBuffer>>).bytes();
    expect(await make(MIB, tar)).toBe("resource_exhausted volume_full");
    expect(await make(16 * MIB, tar.slice(0, 2 * MIB))).toBe("invalid_argument bad_archive");
    expect(await failure(volumes.export("none", never))).toBe("not_found volume_not_found");
    expect((await volumes.list()).map(({ id }) => id)).toEqual(["v"]);
  });
}

function mountTests(subject: Subject): void {
  promise(subject, "a sandbox refuses bad mounts, and volumes that do not exist", async () => {
    const { driver, spec } = subject();
    await driver.volumes.create("v", LIMIT);
    const create = (volumes: readonly VolumeMount[]) => failure(driver.create({ ...spec(), volumes }, never));
    expect(await create([{ ...DATA, volume: "none" }])).toBe("not_found volume_not_found");
    expect(await create([{ ...DATA, path: "/proc/x" }])).toBe("invalid_argument bad_mount_path");
    expect(await create([DATA, { ...DATA, path: "/data/below" }])).toBe("invalid_argument mount_paths_overlap");
    expect(await create(Array.from({ length: 33 }, (_, i) => ({ ...DATA, path: `/m${i}` })))).toBe("invalid_argument too_many_volumes");
    await subject().damage({ volume: "v" });
    expect(await create([DATA])).toBe("data_loss bad_volume");
    expect(await driver.list()).toEqual([]);
  });

  promise(subject, "sandboxes share a volume, which outlives them", async () => {
    const { driver, spec } = subject();
    await driver.volumes.create("v", LIMIT);
    const first = await boot(subject(), { ...spec(), volumes: [DATA] });
    const second = await boot(subject(), { ...spec(), volumes: [{ ...DATA, path: "/mnt/a b", readOnly: true }] });
    await subject().write(first, "/data/sub/note", "from the first");
    expect(await subject().read(second, "/mnt/a b/sub/note")).toBe("from the first");
    expect(await failure(subject().write(second, "/mnt/a b/sub/other", "x"))).not.toBe("resolved");
    await write(subject, "v", "/outside", "from outside");
    expect(await subject().read(first, "/data/outside")).toBe("from outside");
    expect(await driver.keptSpec(first)).toMatchObject({ volumes: [DATA] });
    for (const handle of [first, second]) await driver.destroy(handle);
    expect(await text(subject, "v", "/sub/note")).toBe("from the first");
  });

  promise(subject, "a volume in use is not removed", async () => {
    const { driver, spec } = subject();
    await driver.volumes.create("v", LIMIT);
    const created = await driver.create({ ...spec(), volumes: [DATA] }, never);
    const running = await boot(subject(), { ...spec(), volumes: [DATA] });
    for (const user of [created, running]) {
      const error = await driver.volumes.remove("v").catch((e: unknown) => e);
      expect(error).toMatchObject({ code: "failed_precondition", reason: "volume_in_use" });
      expect((error as { details?: { sandboxes?: unknown } }).details?.sandboxes).toContain(user.sandboxId);
      await driver.destroy(user);
    }
    await driver.volumes.remove("v");
    expect(await driver.volumes.list()).toEqual([]);
  });
}

function lifeTests(subject: Subject): void {
  for (const memory of [true, false]) {
    const kind = memory ? "with memory" : "disk only";
    const can = () => (memory ? ["memory"] : ["memory", "disk"]).includes(subject().driver.capabilities.checkpoint);

    promise(subject, `${kind}: a pause and a resume leave the volume mounted, and not set back`, async () => {
      if (!can()) return;
      const { driver, spec } = subject();
      await driver.volumes.create("v", LIMIT);
      const own = { ...spec(), volumes: [DATA, { ...DATA, path: "/data2", readOnly: true }] };
      const handle = await boot(subject(), own);
      await subject().write(handle, "/data/note", "before");
      await driver.pause(handle, { memory }, never);
      expect(await failure(driver.volumes.remove("v"))).toBe("failed_precondition volume_in_use");
      await write(subject, "v", "/note", "meanwhile");
      const { volumes: _, ...without } = own;
      expect(await reasonOf(driver.resume({ ...without, incarnation: 2 }, { memory }, never))).toBe("volumes_differ");
      const resumed = await driver.resume({ ...own, incarnation: 2 }, { memory }, never);
      expect(await health(await driver.address(resumed))).toBe(204);
      expect(await subject().read(resumed, "/data2/note")).toBe("meanwhile");
      await subject().write(resumed, "/data/note", "after");
      expect(await text(subject, "v", "/note")).toBe("after");
    });

    promise(subject, `${kind}: a fork of a snapshot has the volume of the source`, async () => {
      if (!can() || !subject().driver.capabilities.snapshots) return;
      const { driver, spec } = subject();
      await driver.volumes.create("v", LIMIT);
      const handle = await boot(subject(), { ...spec(), volumes: [DATA] });
      await subject().write(handle, "/data/note", "before");
      expect(await driver.snapshots.capture(handle, { id: "s", memory }, never)).toMatchObject({ volumes: [DATA] });
      await subject().write(handle, "/data/note", "since");
      const from = { snapshot: "s", memory };
      const fork = await boot(subject(), { ...spec(), from, volumes: [DATA] });
      expect(await subject().read(fork, "/data/note")).toBe("since");
      if (memory) expect(await reasonOf(driver.create({ ...spec(), from }, never))).toBe("volumes_differ");
      else expect(await health(await driver.address(await boot(subject(), { ...spec(), from })))).toBe(204);
      for (const user of [fork, handle]) await driver.destroy(user);
      for (const other of await driver.list()) await driver.destroy(other);
      await driver.volumes.remove("v");
      expect(await reasonOf(driver.create({ ...spec(), from, volumes: [DATA] }, never))).toBe("volume_not_found");
    });
  }
}

const write = (subject: Subject, id: string, path: string, text: string) =>
  subject().driver.volumes.content.write(id, path, new Blob([text]).stream(), { signal: never, force: true });

async function text(subject: Subject, id: string, path: string): Promise<string> {
  const { stream } = await subject().driver.volumes.content.read(id, path, { signal: never });
  return new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).text();
}
