import { expect, test } from "bun:test";
import type { SandboxHandle } from "../../handle.ts";
import type { SandboxSpec } from "../../runtime/types.ts";
import { boot, codeOf, failure, health, never, reasonOf, type Subject, TIMEOUT_MS } from "../subject.ts";

/** Tests the guarantees of `StorageDriver` for snapshots (`SnapshotStore`), and of `SandboxSpec.from`: with memory if the driver supports it, and with the disk only. */
export function snapshotTests(subject: Subject): void {
  for (const memory of [true, false]) {
    const taken = new Taken(subject, memory);
    startTests(taken);
    keepTests(taken);
  }

  test("an unknown snapshot is not found", async () => {
    const { driver, spec } = subject();
    expect(await driver.snapshots.get("none")).toBeUndefined();
    await driver.snapshots.remove("none");
    if (!driver.capabilities.snapshots) return;
    expect(await reasonOf(driver.create({ ...spec(), from: { snapshot: "none", memory: false } }, never))).toBe("snapshot_not_found");
    expect(await driver.list()).toEqual([]);
    const gone: SandboxHandle = { driver: driver.name, sandboxId: spec().sandboxId, incarnation: 1 };
    expect(await codeOf(driver.snapshots.capture(gone, { id: "s", memory: false }, never))).toBe("not_found");
    expect(await driver.snapshots.list()).toEqual([]);
  });
}

/** Common parts of the tests for one kind of snapshot. */
class Taken {
  readonly memory: boolean;
  readonly subject: Subject;

  constructor(subject: Subject, memory: boolean) {
    this.subject = subject;
    this.memory = memory;
  }

  /** A test where the driver has the capability; else a test that it refuses. */
  promise(text: string, work: () => Promise<void>): void {
    const title = `${this.memory ? "with memory" : "disk only"}: ${text}`;
    test(title, () => (this.can() ? work() : this.sayNo()), TIMEOUT_MS);
  }

  /** A running sandbox, and a snapshot `s` of it. */
  async capture(): Promise<{ spec: SandboxSpec; handle: SandboxHandle }> {
    const spec = this.subject().spec();
    const handle = await boot(this.subject(), spec);
    await this.subject().driver.snapshots.capture(handle, { id: "s", memory: this.memory }, never);
    return { spec, handle };
  }

  fromSnapshot(): SandboxSpec {
    return { ...this.subject().spec(), from: { snapshot: "s", memory: this.memory } };
  }

  private can(): boolean {
    const { capabilities } = this.subject().driver;
    return capabilities.snapshots && (this.memory ? capabilities.checkpoint === "memory" : capabilities.checkpoint !== "none");
  }

  private async sayNo(): Promise<void> {
    const { driver } = this.subject();
    const handle = await boot(this.subject());
    const reason = driver.capabilities.snapshots ? "no_memory_checkpoint" : "snapshots_unimplemented";
    expect(await reasonOf(driver.snapshots.capture(handle, { id: "s", memory: this.memory }, never))).toBe(reason);
    expect(await health(await driver.address(handle))).toBe(204);
  }
}

function startTests(taken: Taken): void {
  const { memory, subject } = taken;

  taken.promise("the source runs on, and the snapshot is listed until it is removed", async () => {
    const { driver } = subject();
    const { snapshots } = driver;
    const { spec, handle } = await taken.capture();
    expect(await health(await driver.address(handle))).toBe(204);
    expect((await driver.inspect(handle)).phase).toBe("running");
    expect(await snapshots.get("s")).toMatchObject({ id: "s", memory, layers: spec.image.layers });
    expect((await snapshots.list()).map(({ id }) => id)).toEqual(["s"]);
    expect(await reasonOf(snapshots.capture(handle, { id: "s", memory }, never))).toBe("snapshot_exists");
    for (let i = 0; i < 2; i++) await snapshots.remove("s");
    expect(await snapshots.list()).toEqual([]);
  });

  taken.promise("several sandboxes start from it, also when its source and then the snapshot itself are gone", async () => {
    const { handle } = await taken.capture();
    const { driver } = subject();
    const first = await boot(subject(), taken.fromSnapshot());
    await driver.destroy(handle);
    const second = await boot(subject(), taken.fromSnapshot());
    await driver.snapshots.remove("s");
    const addresses = await Promise.all([first, second].map((it) => driver.address(it)));
    expect(new Set(addresses.map(({ host, agentPort }) => `${host}:${agentPort}`)).size).toBe(2);
    for (const address of addresses) expect(await health(address)).toBe(204);
    expect(await reasonOf(driver.create(taken.fromSnapshot(), never))).toBe("snapshot_not_found");
  });

  taken.promise("a sandbox started from it is paused, resumed and captured again", async () => {
    await taken.capture();
    const { driver } = subject();
    const spec = taken.fromSnapshot();
    const fork = await boot(subject(), spec);
    await driver.snapshots.capture(fork, { id: "s2", memory }, never);
    await driver.pause(fork, { memory }, never);
    const { from: _, ...rest } = spec;
    const resumed = await driver.resume({ ...rest, incarnation: 2 }, { memory }, never);
    expect(await health(await driver.address(resumed))).toBe(204);
    await driver.dropGeneration(resumed);
    const grandchild = await boot(subject(), { ...subject().spec(), from: { snapshot: "s2", memory } });
    expect(await health(await driver.address(grandchild))).toBe(204);
  });

  taken.promise("a paused sandbox resumes from it, and can be reverted to its own generation", async () => {
    const { spec, handle } = await taken.capture();
    const { driver } = subject();
    await driver.pause(handle, { memory }, never);
    const back = await driver.resume({ ...spec, incarnation: 2, from: { snapshot: "s", memory } }, { memory }, never);
    expect(await health(await driver.address(back))).toBe(204);
    expect((await driver.revert(spec.sandboxId)).incarnation).toBe(1);
    const own = await driver.resume({ ...spec, incarnation: 3 }, { memory }, never);
    expect(await health(await driver.address(own))).toBe(204);
  });
}

function keepTests(taken: Taken): void {
  const { memory, subject } = taken;

  taken.promise("a damaged one is listed, found by no start, used after a repair, and removed", async () => {
    const { spec, handle } = await taken.capture();
    await subject().damage({ snapshot: "s" });
    await subject().reopen();
    const { driver } = subject();
    expect(await driver.snapshots.list()).toMatchObject([{ id: "s", damaged: true }]);
    await driver.recover(handle);
    for (const call of [
      () => driver.snapshots.get("s"),
      () => driver.create(taken.fromSnapshot(), never),
      () => (driver.capabilities.images ? driver.snapshots.toLayer("s", { signal: never }) : driver.snapshots.get("s")),
    ]) {
      expect([String(call), await failure(call())]).toEqual([String(call), "data_loss bad_snapshot"]);
    }
    expect((await driver.list()).map(({ sandboxId }) => sandboxId)).toEqual([spec.sandboxId]);
    await driver.snapshots.capture(handle, { id: "s2", memory }, never);
    await subject().mend();
    expect(await driver.snapshots.get("s")).toMatchObject({ id: "s", memory });
    expect((await driver.inspect(await driver.create(taken.fromSnapshot(), never))).phase).toBe("created");
    await subject().damage({ snapshot: "s" });
    for (let i = 0; i < 2; i++) await driver.snapshots.remove("s");
    expect((await driver.snapshots.list()).map(({ id }) => id)).toEqual(["s2"]);
  });

  taken.promise("toLayer makes a layer of its changes, which a sandbox can stand on", async () => {
    const { driver } = subject();
    const spec = subject().spec();
    const handle = await boot(subject(), spec);
    const word = crypto.randomUUID();
    await subject().write(handle, "/opt/note", word);
    await driver.snapshots.capture(handle, { id: "s", memory }, never);
    const toLayer = (options = {}) => driver.snapshots.toLayer("s", { signal: never, ...options });
    if (!driver.capabilities.images) {
      expect(await failure(toLayer())).toBe("unimplemented images_unimplemented");
      return;
    }
    await subject().write(handle, "/opt/note", "changed since");
    await driver.destroy(handle);
    const before = (await driver.images.listLayers()).length;
    const reason = new Error("changed my mind");
    expect(await toLayer({ signal: AbortSignal.abort(reason) }).catch((e: unknown) => e)).toBe(reason);
    expect(await failure(toLayer({ maxBytes: 512 }))).toBe("resource_exhausted layer_too_large");
    expect(await failure(driver.snapshots.toLayer("none", { signal: never }))).toBe("not_found snapshot_not_found");
    expect((await driver.images.listLayers()).length).toBe(before);
    const { digest } = await toLayer();
    expect((await toLayer()).digest).toBe(digest);
    expect(await driver.snapshots.get("s")).toMatchObject({ id: "s", layers: spec.image.layers });
    await driver.snapshots.remove("s");
    const above = await boot(subject(), { ...subject().spec(), image: { ...spec.image, layers: [...spec.image.layers, digest] } });
    expect(await subject().read(above, "/opt/note")).toBe(word);
    await driver.destroy(above);
    await driver.images.removeLayer(digest);
  });

  taken.promise("a new driver finds it", async () => {
    const { handle } = await taken.capture();
    await subject().driver.destroy(handle);
    await subject().reopen();
    const { driver } = subject();
    expect((await driver.snapshots.list()).map(({ id }) => id)).toEqual(["s"]);
    expect(await health(await driver.address(await boot(subject(), taken.fromSnapshot())))).toBe(204);
  });
}
