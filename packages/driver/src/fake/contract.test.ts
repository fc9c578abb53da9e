import { dirname } from "node:path";
import { newSandboxId } from "@boxyard/core";
import type { CheckpointAbility } from "../checkpoint/generation.ts";
import { type ContractSubject, driverContract, type SuiteName } from "../contract-suite/index.ts";
import type { Damageable } from "../contract-suite/subject.ts";
import type { SandboxHandle } from "../handle.ts";
import { FakeDriver } from "./fake-driver.ts";
import { type FakeSandbox, FakeWorld, type Lackable } from "./world.ts";

interface Kind {
  readonly checkpoint?: CheckpointAbility;
  readonly lacks?: readonly Lackable[];
  readonly keepsProcesses?: boolean;
}

/** The suites that a driver without the capability `images` passes. */
const WITHOUT_IMAGES: readonly SuiteName[] = ["processes", "records", "network", "snapshots", "volumes", "volumeMounts", "checkpoint"];

driverContract("fake", () => makeSubject({}));
driverContract("fake, keeps processes in memory", () => makeSubject({ keepsProcesses: true }), [
  "processes",
  "records",
  "snapshots",
  "volumes",
  "volumeMounts",
  "checkpoint",
]);
driverContract("fake, keeps the disk alone", () => makeSubject({ checkpoint: "disk" }));
driverContract("fake without localFiles", () => makeSubject({ lacks: ["localFiles"] }), ["images"]);
driverContract("fake without images", () => makeSubject({ lacks: ["images"] }), WITHOUT_IMAGES);
driverContract(
  "fake that says no",
  () => makeSubject({ checkpoint: "none", lacks: ["freeze", "network", "images", "snapshots", "volumes", "localFiles"] }),
  WITHOUT_IMAGES,
);

async function makeSubject({ checkpoint = "memory", lacks = [], keepsProcesses = false }: Kind): Promise<ContractSubject> {
  const world = new FakeWorld();
  Object.assign(world, { checkpoint, keepsProcesses });
  for (const name of lacks) world.lacks.add(name);
  let driver = new FakeDriver(world);
  const digest = `sha256:${"a".repeat(64)}`;
  world.images.add(digest);
  const spec = () => ({
    sandboxId: newSandboxId(),
    incarnation: 1,
    image: { digest, layers: [digest] },
    hostname: "fake",
    resources: { cpuCount: 1, memoryBytes: 256 << 20, diskBytes: 1 << 30, maxProcesses: 64 },
    network: { internetAccess: true },
    agent: { initKey: "0123456789abcdef" },
    labels: {},
  });
  const at = ({ sandboxId }: SandboxHandle): FakeSandbox => {
    const sandbox = world.sandboxes.get(sandboxId);
    if (!sandbox) throw new Error(`no ${sandboxId}`);
    return sandbox;
  };
  return {
    get driver() {
      return driver;
    },
    spec,
    reopen: async () => {
      await driver.close();
      driver = new FakeDriver(world);
    },
    endAgent: (handle) => world.stop(handle.sandboxId, { reason: "agent_exited" }),
    leaveHalfMade: async () => {
      const sandbox = world.make(spec(), driver.name);
      sandbox.halfMade = true;
      return sandbox.handle;
    },
    breakStarts: () => world.faults.add("start", { kind: "hang" }),
    damage: async (what) => setDamaged(world, what),
    mend: async () => {
      world.faults.clear();
      for (const sandbox of world.sandboxes.values()) Object.assign(sandbox, { damaged: false, generationDamaged: false });
      for (const snapshot of world.snapshots.values()) delete snapshot.damaged;
      for (const volume of world.volumes.values()) delete volume.damaged;
    },
    write: async (handle, path, text) => writeInside(world, at(handle), path, text),
    read: async (handle, path) => readInside(world, at(handle), path),
    tryToReach: async (handle, { name, address, port }, isTold) => {
      const { internetAccess } = at(handle).network;
      const tried = { sandboxId: handle.sandboxId, at: Date.now(), isAllowed: internetAccess };
      world.attempts.push({ ...tried, protocol: "dns", rule: internetAccess ? "allowed" : "names", name });
      world.attempts.push({ ...tried, protocol: "tcp", rule: internetAccess ? "allowed" : "internetAccess", address, port });
      if (!isTold()) throw new Error("what was tried is not told");
    },
    dispose: () => world.clear(),
  };
}

/** The mount that a path is below, with the path in its volume. */
function mountAt(world: FakeWorld, { spec }: FakeSandbox, path: string) {
  const mount = spec.volumes?.find((it) => path.startsWith(`${it.path}/`));
  const files = mount && world.volumes.get(mount.volume)?.files;
  return mount && files && { ...mount, files, inside: path.slice(mount.path.length) };
}

function writeInside(world: FakeWorld, sandbox: FakeSandbox, path: string, text: string): void {
  const mount = mountAt(world, sandbox, path);
  if (!mount) sandbox.files.set(path, text);
  else if (mount.readOnly) throw new Error("read-only");
  else {
    mount.files.makeDirectory(dirname(mount.inside), true, {});
    mount.files.put(mount.inside, new Uint8Array(Buffer.from(text)), {});
  }
}

function readInside(world: FakeWorld, sandbox: FakeSandbox, path: string): string {
  const mount = mountAt(world, sandbox, path);
  if (mount) return new TextDecoder().decode(mount.files.bytesOf(mount.inside));
  return sandbox.files.get(path) ?? inLayers(world, sandbox.spec.image.layers, path);
}

function setDamaged(world: FakeWorld, what: Damageable): void {
  const target =
    "snapshot" in what
      ? world.snapshots.get(what.snapshot)
      : "volume" in what
        ? world.volumes.get(what.volume)
        : world.sandboxes.get("sandbox" in what ? what.sandbox.sandboxId : what.generation.sandboxId);
  if (!target) throw new Error("there is nothing to damage");
  Object.assign(target, "generation" in what ? { generationDamaged: true } : { damaged: true });
}

/** Text of a file in a sandbox's layers: a fake sandbox sees of its image only committed and imported ones. */
function inLayers(world: FakeWorld, layers: readonly string[], path: string): string {
  for (const layer of layers.toReversed()) {
    const tar = Buffer.from(world.layers.get(layer)?.tar ?? []).toString("latin1");
    const at = tar.indexOf(`${path.slice(1)}\0`);
    if (at >= 0) return tar.slice(at + 512, at + 512 + Number.parseInt(tar.slice(at + 124, at + 135), 8));
  }
  throw new Error(`no ${path}`);
}
