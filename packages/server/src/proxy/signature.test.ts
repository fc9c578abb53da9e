import { expect, test } from "bun:test";
import type { SandboxId } from "@boxyard/core";
import { RouteTable } from "./route-table.ts";
import { fileSignature, findSigned } from "./signature.ts";

const routes = new RouteTable();
const sandboxId = `i${"0".repeat(20)}` as SandboxId;
routes.add({ sandboxId, incarnation: 1, host: "127.0.0.1", agentPort: 1, accessToken: "secret" });

function found(path: string, user = "user"): boolean {
  const signature = fileSignature({ path, operation: "read", user, accessToken: "secret", expiration: undefined });
  const target = `/files?${new URLSearchParams({ path, username: user, signature })}`;
  return findSigned(routes, "GET", target) !== undefined;
}

test("the sandbox of a signature is found", () => {
  expect(found("/home/user/ü")).toBe(true);
  expect(found(`/${"a".repeat(4095)}`)).toBe(true);
});

test("a path or user that is too long is not hashed", () => {
  expect(found(`/${"a".repeat(4096)}`)).toBe(false);
  expect(found(`/${"ü".repeat(2048)}`)).toBe(false);
  expect(found("/a", "u".repeat(257))).toBe(false);
});
