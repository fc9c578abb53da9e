import { expect, test } from "bun:test";
import { closeSync, openSync } from "node:fs";
import { moveInKernel } from "./kernel-relay.ts";

test("where the kernel does not splice nothing is moved, and no connection counts as broken", () => {
  const [source, target] = [openSync("/", "r"), openSync("/dev/null", "w")];
  try {
    expect(moveInKernel(source, target, 1 << 20)).toEqual({ taken: 0, rest: undefined });
  } finally {
    closeSync(source);
    closeSync(target);
  }
});
