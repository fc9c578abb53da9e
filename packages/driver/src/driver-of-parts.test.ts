import { expect, test } from "bun:test";
import { AppError } from "@boxyard/core";
import { codeOf, never, reasonOf } from "./contract-suite/subject.ts";
import { FakeDriver } from "./fake/fake-driver.ts";
import { FakeWorld } from "./fake/world.ts";

function lacking(...what: readonly ("images" | "snapshots")[]): FakeDriver {
  const world = new FakeWorld();
  for (const name of what) world.lacks.add(name);
  return new FakeDriver(world);
}

test("without a part its capability is absent, and its calls are unimplemented", async () => {
  const driver = lacking("images", "snapshots");
  expect(driver.capabilities).toMatchObject({ images: false, snapshots: false, freeze: true, network: true, checkpoint: "memory" });
  expect(await codeOf(driver.images.listLayers())).toBe("unimplemented");
  const handle = { driver: "fake", sandboxId: "iaaaaaaaaaaaaaaaaaaaa" as never, incarnation: 1 };
  expect(await reasonOf(driver.snapshots.capture(handle, { id: "one", memory: false }, never))).toBe("snapshots_unimplemented");
});

test("a call is forwarded to its part, and the part's error is thrown unchanged", async () => {
  const driver = lacking();
  driver.world.faults.add("capacity", {
    kind: "fail",
    error: new AppError("unavailable", "The part says no", { reason: "part_says_no" }),
  });
  expect(await reasonOf(driver.capacity())).toBe("part_says_no");
  driver.world.faults.clear();
  expect(await driver.capacity()).toEqual(driver.world.capacity);
  expect(driver.capabilities).toMatchObject({ images: true, snapshots: true });
});
