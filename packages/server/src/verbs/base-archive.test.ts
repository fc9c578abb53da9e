import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FakeDriver } from "@boxyard/driver/fake";
import { Pins } from "../images/pins.ts";
import type { Machine } from "../machine.ts";
import { importArchive } from "../registry/index.ts";
import { templateFactsOf } from "../templates/images/template-image.ts";
import { baseArchive } from "./base-archive.ts";

const directory = mkdtempSync(join(tmpdir(), "boxyard-base-archive-"));
const archive = join(directory, "base.tar");
afterAll(() => rmSync(directory, { recursive: true }));

const settings = { cpuCount: 2, memoryMB: 1024, diskMB: 10, env: { A: "b" }, user: "user", workdir: "/home/user" };
const machine = (rebuildBase: Machine["rebuildBase"]) => ({ rebuildBase }) as Machine;

test("the archive holds the tree as one layer, with the settings of its sandboxes", async () => {
  const tree = join(directory, "tree.tar");
  writeFileSync(join(directory, "file"), "content");
  const packed = Bun.spawnSync(["tar", "--create", `--file=${tree}`, `--directory=${directory}`, "./file"]);
  expect(packed.exitCode).toBe(0);
  expect(
    await baseArchive(
      machine(async () => ({ tar: tree, settings })),
      archive,
    ),
  ).toBe(0);

  const { images } = new FakeDriver();
  const { signal } = new AbortController();
  using installed = await importArchive({ archive: Bun.file(archive).stream(), directory, images, pins: new Pins(), signal });
  const tar = await Bun.file(tree).bytes();
  expect(installed.image.layers).toEqual([`sha256:${new Bun.CryptoHasher("sha256").update(tar).digest("hex")}`]);
  expect(installed.settings.env).toEqual({ A: "b" });
  expect(templateFactsOf(installed.settings)).toEqual({ user: "user", workdir: "/home/user" });
});

test("a build that fails leaves no archive", async () => {
  rmSync(archive, { force: true });
  const failing = machine(async () => {
    throw new Error("no packages");
  });
  await expect(baseArchive(failing, archive)).rejects.toThrow("no packages");
  await expect(
    baseArchive(
      machine(async () => ({ tar: join(directory, "none"), settings })),
      archive,
    ),
  ).rejects.toThrow();
  expect(readdirSync(directory).filter((name) => name.startsWith("base."))).toEqual([]);
});
