import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { raiseSettings, restoreKernelSettings, settingsTooLow } from "./kernel-settings.ts";

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-kernel-"));
  mkdirSync(`${directory}/fs/inotify`, { recursive: true });
  write("max_user_instances", 128);
  write("max_user_watches", 200_000_000);
});

afterEach(() => rmSync(directory, { recursive: true }));

const write = (name: string, value: number) => writeFileSync(`${directory}/fs/inotify/${name}`, `${value}\n`);
const read = (name: string) => Number(readFileSync(`${directory}/fs/inotify/${name}`, "utf8"));

test("settings that are too low are raised, others stay, and restoring sets the old values", () => {
  expect(raiseSettings(directory, directory)).toEqual([{ name: "fs.inotify.max_user_instances", before: 128, after: 131_072 }]);
  expect([read("max_user_instances"), read("max_user_watches")]).toEqual([131_072, 200_000_000]);
  expect(settingsTooLow(directory)).toEqual([]);
  expect(raiseSettings(directory, directory)).toEqual([]);
  restoreKernelSettings(directory, directory);
  restoreKernelSettings(directory, directory);
  expect([read("max_user_instances"), read("max_user_watches")]).toEqual([128, 200_000_000]);
});

test("a setting that this kernel does not have is ignored", () => {
  rmSync(`${directory}/fs/inotify/max_user_instances`);
  expect(raiseSettings(directory, directory)).toEqual([]);
  restoreKernelSettings(directory, directory);
});

test("a value that another program has changed since stays as it is", () => {
  raiseSettings(directory, directory);
  write("max_user_instances", 500_000);
  restoreKernelSettings(directory, directory);
  expect(read("max_user_instances")).toBe(500_000);
});

test("after a reboot the first value is restored", () => {
  raiseSettings(directory, directory);
  write("max_user_instances", 128);
  raiseSettings(directory, directory);
  restoreKernelSettings(directory, directory);
  expect(read("max_user_instances")).toBe(128);
});

test("settings that one server has raised can be restored by another one", () => {
  const record = join(directory, "shared");
  raiseSettings(record, directory);
  // Another server finds nothing to change; the first one's data directory is gone by now.
  raiseSettings(record, directory);
  restoreKernelSettings(record, directory);
  expect(read("max_user_instances")).toBe(128);
});
