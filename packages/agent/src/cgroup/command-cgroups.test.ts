import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CommandCgroups } from "./command-cgroups.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "command-cgroups-"));
  writeFileSync(join(root, "cgroup.procs"), "");
});
afterEach(() => rmSync(root, { recursive: true }));

test("a subtree that was removed is made again", () => {
  const cgroups = new CommandCgroups(root);
  rmdirSync(join(root, "pty"));
  expect(existsSync(cgroups.create("pty")?.path ?? "")).toBe(true);
});

test("names that exist already are skipped", () => {
  const cgroups = new CommandCgroups(root);
  for (const name of ["1", "2", "3"]) mkdirSync(join(root, "user", name));
  expect(cgroups.create("user")?.path).toBe(join(root, "user/4"));
});

test("only EAGAIN is reported as the limit of command groups", () => {
  const cgroups = new CommandCgroups(root);
  rmdirSync(join(root, "user"));
  writeFileSync(join(root, "user"), "");
  expect(() => cgroups.create("user")).toThrow(expect.objectContaining({ code: "internal", reason: "no_cgroup" }));
});

test("groups that the command made are removed with its own, but not while one of them is populated", () => {
  const cgroup = new CommandCgroups(root).create("user");
  const path = cgroup?.path ?? "";
  mkdirSync(join(path, "a/b"), { recursive: true });
  mkdirSync(join(path, "c"));
  // In a real cgroup the kernel's files do not prevent its removal.
  const events = join(path, "cgroup.events");
  writeFileSync(events, "populated 1\nfrozen 0\n");
  cgroup?.remove();
  expect(existsSync(join(path, "a/b"))).toBe(true);
  rmSync(events);
  cgroup?.remove();
  expect(existsSync(path)).toBe(false);
});
