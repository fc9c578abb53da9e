import { afterAll, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chooseRuntime, probeRuntimes } from "./choose.ts";

const directory = mkdtempSync(join(tmpdir(), "boxyard-runtimes-"));
afterAll(() => rmSync(directory, { recursive: true }));

function program(name: string, script: string): string {
  const file = join(directory, name);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}
const good = program("good", "echo version 1; echo +SYSTEMD +SECCOMP +EBPF; echo libseccomp: 2.5.4");
const unfiltered = program("unfiltered", "echo version 1; echo +SYSTEMD +NOSECCOMP -SECCOMP; echo spec: 1.0.0");
const bad = program("bad", "exit 127");
const finder = (files: Readonly<Record<string, string>>) => (name: string) => files[name];

test("crun where it works, without a look at runc", () => {
  const find = finder({ crun: good, runc: bad });
  expect(chooseRuntime(undefined, find)).toMatchObject({ dialect: { name: "crun" }, file: good });
  expect(probeRuntimes(undefined, find)).toMatchObject([{ version: "version 1", problem: undefined }]);
});

test("runc where crun is missing or does not run", () => {
  expect(chooseRuntime(undefined, finder({ runc: good }))).toMatchObject({ dialect: { name: "runc" }, file: good });
  expect(chooseRuntime(undefined, finder({ crun: bad, runc: good })).dialect.name).toBe("runc");
  expect(probeRuntimes(undefined, finder({ crun: bad, runc: good }))[0]?.problem).toContain("does not run (status 127)");
});

test("none that was built without filters of system calls: it would start sandboxes without one", () => {
  expect(chooseRuntime(undefined, finder({ crun: unfiltered, runc: good })).dialect.name).toBe("runc");
  expect(() => chooseRuntime("crun", finder({ crun: unfiltered }))).toThrow("was built without seccomp");
  expect(() => chooseRuntime("runc", finder({ runc: unfiltered }))).toThrow("was built without seccomp");
});

test("the one that is asked for, or none", () => {
  expect(chooseRuntime("runc", finder({ crun: good, runc: good })).dialect.name).toBe("runc");
  expect(() => chooseRuntime("runc", finder({ crun: good }))).toThrow("runc is not installed; install the package 'runc'");
  expect(() => chooseRuntime(undefined, finder({}))).toThrow("crun is not installed; runc is not installed");
});
