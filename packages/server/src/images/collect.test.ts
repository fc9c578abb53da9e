import { expect, test } from "bun:test";
import { newSandboxId } from "@boxyard/core";
import { FakeDriver, makeTar } from "@boxyard/driver/fake";
import { collectLayers } from "./collect.ts";
import { Pins } from "./pins.ts";

const signal = new AbortController().signal;

async function withLayers(count: number) {
  const driver = new FakeDriver();
  const digests: string[] = [];
  for (let i = 0; i < count; i++) {
    const source = new Blob([makeTar([{ path: "file", text: `${i}` }])]).stream();
    digests.push((await driver.images.importLayer(source, { signal })).digest);
  }
  return { driver, images: driver.images, digests: digests as [string, string, string, string] };
}

test("a layer without a reference, a sandbox or a pin is removed, and no other", async () => {
  const { driver, images, digests } = await withLayers(4);
  const [referenced, used, pinned, garbage] = digests;
  await driver.create(
    {
      sandboxId: newSandboxId(),
      incarnation: 1,
      image: { digest: used, layers: [used] },
      hostname: "fake",
      resources: { cpuCount: 1, memoryBytes: 256 << 20, diskBytes: 1 << 30, maxProcesses: 64 },
      network: { internetAccess: true },
      agent: { initKey: "0123456789abcdef" },
      labels: {},
    },
    signal,
  );
  // Time alone: layers that were made in the same millisecond count as new.
  await Bun.sleep(5);
  const pins = new Pins();
  using _pin = pins.hold([pinned]);
  const result = await collectLayers({ images, pins, referenced: async () => new Set([referenced]), signal });
  expect(result).toEqual({ removed: [garbage], removedBytes: 2048, inUse: 1 });
  expect((await images.listLayers()).map(({ digest }) => digest).sort()).toEqual([referenced, used, pinned].sort());
});

test("a layer that is pinned and unpinned between mark and sweep stays", async () => {
  const { images, digests } = await withLayers(4);
  const [a, b] = digests;
  const pins = new Pins();
  const referenced = async () => {
    // A quick build begins after the mark and ends before the sweep.
    pins.hold([a])[Symbol.dispose]();
    return new Set([b]);
  };
  await collectLayers({ images, pins, referenced, signal });
  expect((await images.listLayers()).map(({ digest }) => digest).sort()).toEqual([a, b].sort());
  expect(pins.isPinned(a)).toBe(false);
});

test("a layer that is made while a pin is held stays, although it could not be pinned before", async () => {
  const pins = new Pins();
  const work = pins.hold([]);
  const { images, digests } = await withLayers(2);
  const referenced = async () => {
    // The work ends between mark and sweep.
    work[Symbol.dispose]();
    return new Set<string>();
  };
  expect((await collectLayers({ images, pins, referenced, signal })).removed).toEqual([]);
  const nobody = async () => new Set<string>();
  expect([...(await collectLayers({ images, pins, referenced: nobody, signal })).removed].sort()).toEqual([...digests].sort());
});

test("a pin counts its holders", () => {
  const pins = new Pins();
  const first = pins.hold(["x"]);
  const second = pins.hold([]);
  second.add(["x"]);
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  expect(pins.isPinned("x")).toBe(true);
  second[Symbol.dispose]();
  expect(pins.isPinned("x")).toBe(false);
});
