import { newSandboxId } from "@boxyard/core";
import { type ImagesSubject, imagesContract } from "../images-contract-suite.ts";
import { FakeDriver } from "./fake-driver.ts";
import { FakeWorld, type Lackable } from "./world.ts";

for (const lacks of [[], ["localFiles"]] as const) imagesContract(`fake without ${lacks[0] ?? "nothing"}`, () => makeSubject(lacks));

async function makeSubject(lacks: readonly Lackable[]): Promise<ImagesSubject> {
  const world = new FakeWorld();
  for (const name of lacks) world.lacks.add(name);
  let driver = new FakeDriver(world);
  const digest = `sha256:${"a".repeat(64)}`;
  /** A fake sandbox sees its image's files only as far as this test goes: those of committed layers. */
  const seen = (layers: readonly string[], path: string) => {
    for (const layer of layers.toReversed()) {
      const tar = Buffer.from(world.layers.get(layer)?.tar ?? []).toString("latin1");
      const at = tar.indexOf(`${path.slice(1)}\0`);
      if (at >= 0) return tar.slice(at + 512, at + 512 + Number.parseInt(tar.slice(at + 124, at + 135), 8));
    }
    throw new Error(`no ${path}`);
  };
  return {
    get driver() {
      return driver;
    },
    spec: () => ({
      sandboxId: newSandboxId(),
      incarnation: 1,
      image: { digest, layers: [digest] },
      hostname: "fake",
      resources: { cpuCount: 1, memoryBytes: 256 << 20, diskBytes: 1 << 30, maxProcesses: 64 },
      network: { internetAccess: true },
      agent: { initKey: "0123456789abcdef" },
      labels: {},
    }),
    reopen: async () => {
      await driver.close();
      driver = new FakeDriver(world);
    },
    write: async (handle, path, text) => void world.sandboxes.get(handle.sandboxId)?.files.set(path, text),
    read: async (handle, path) => seen(world.sandboxes.get(handle.sandboxId)?.spec.image.layers ?? [], path),
    dispose: () => world.clear(),
  };
}
