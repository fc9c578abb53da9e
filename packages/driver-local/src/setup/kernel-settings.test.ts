import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { raiseSettings, restoreKernelSettings, settingsTooLow } from "./kernel-settings.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "boxyard-kernel-"));
  mkdirSync(`${folder}/fs/inotify`, { recursive: true });
  write("max_user_instances", 128);
  write("max_user_watches", 2_000_000);
});

afterEach(() => rmSync(folder, { recursive: true }));

const write = (name: string, value: number) => writeFileSync(`${folder}/fs/inotify/${name}`, `${value}\n`);
const read = (name: string) => Number(readFileSync(`${folder}/fs/inotify/${name}`, "utf8"));

test("raises what is too low, leaves the rest, and puts back what it changed", () => {
  expect(raiseSettings(folder, folder)).toEqual([{ name: "fs.inotify.max_user_instances", before: 128, after: 131_072 }]);
  expect([read("max_user_instances"), read("max_user_watches")]).toEqual([131_072, 2_000_000]);
  expect(settingsTooLow(folder)).toEqual([]);
  expect(raiseSettings(folder, folder)).toEqual([]);
  restoreKernelSettings(folder, folder);
  restoreKernelSettings(folder, folder);
  expect([read("max_user_instances"), read("max_user_watches")]).toEqual([128, 2_000_000]);
});

test("a setting that this kernel does not have is passed over", () => {
  rmSync(`${folder}/fs/inotify/max_user_instances`);
  expect(raiseSettings(folder, folder)).toEqual([]);
  restoreKernelSettings(folder, folder);
});

test("a value that somebody else has changed since stays his", () => {
  raiseSettings(folder, folder);
  write("max_user_instances", 500_000);
  restoreKernelSettings(folder, folder);
  expect(read("max_user_instances")).toBe(500_000);
});

test("after a reboot the first value is still the one that is put back", () => {
  raiseSettings(folder, folder);
  write("max_user_instances", 128);
  raiseSettings(folder, folder);
  restoreKernelSettings(folder, folder);
  expect(read("max_user_instances")).toBe(128);
});

test("what one server has raised, the last one puts back, whichever that is", () => {
  const record = join(folder, "shared");
  raiseSettings(record, folder);
  // Another server finds nothing to change; the first one's data folder is gone by now.
  raiseSettings(record, folder);
  restoreKernelSettings(record, folder);
  expect(read("max_user_instances")).toBe(128);
});
