import { expect, test } from "bun:test";
import { isAppError, newSandboxId, type SandboxId } from "@boxyard/core";
import type { SandboxSpec } from "@boxyard/driver";
import { validateSpec } from "./validate.ts";

const digest = `sha256:${"0".repeat(64)}`;
const good: SandboxSpec = {
  sandboxId: newSandboxId(),
  incarnation: 1,
  image: { digest, layers: [digest] },
  hostname: "box-1",
  resources: { cpuCount: 0.5, memoryBytes: 128 << 20, diskBytes: 1 << 30, maxProcesses: 64 },
  network: { internetAccess: true },
  agent: { initKey: "0123456789abcdef" },
  labels: {},
};

test("takes a good spec", () => {
  expect(() => validateSpec(good)).not.toThrow();
});

test("names the rule that is broken", () => {
  const rule = (change: Partial<SandboxSpec>) => {
    try {
      validateSpec({ ...good, ...change });
      return "none";
    } catch (error) {
      return isAppError(error, "invalid_spec") ? String(error.details.rule).split(" ")[0] : String(error);
    }
  };
  const resources = (change: Partial<SandboxSpec["resources"]>) => ({ resources: { ...good.resources, ...change } });
  expect(rule({ sandboxId: "i/../../../etc" as SandboxId })).toBe("sandboxId");
  expect(rule({ incarnation: 1.5 })).toBe("incarnation");
  for (const hostname of ["", "-a", "a.b", "a\nb", "x".repeat(64), "a b"]) expect(rule({ hostname })).toBe("hostname");
  expect(rule({ image: { digest, layers: [] } })).toBe("image");
  expect(rule({ image: { digest, layers: ["sha256:../../x"] } })).toBe("image");
  expect(rule(resources({ cpuCount: Number.NaN }))).toBe("cpuCount");
  expect(rule(resources({ memoryBytes: 1 << 20 }))).toBe("memoryBytes");
  expect(rule(resources({ diskBytes: Number.POSITIVE_INFINITY }))).toBe("diskBytes");
  expect(rule(resources({ maxProcesses: 1 }))).toBe("maxProcesses");
  expect(rule({ agent: { initKey: 'a"\n{}0123456789abc' } })).toBe("initKey");
  expect(rule({ network: { internetAccess: true, allowOut: ["1.2.3.4\n}"] } })).toBe("network");
  expect(rule({ labels: { a: "x".repeat(4_096) } })).toBe("labels");
});
