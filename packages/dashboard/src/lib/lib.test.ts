import { expect, test } from "bun:test";
import type { EntryInfo } from "@boxyard/sdk";
import { readPairs } from "../pages/sandboxes/pairs.ts";
import { orderOf } from "../pages/templates/build-order.ts";
import { join, linesOf, parentOf } from "./file-tree.ts";
import { bytes, counted, duration, fullTime, milliseconds } from "./format.ts";
import { portsIn } from "./listening-ports.ts";

test("sizes, durations and numbers as people read them", () => {
  expect([0, 1023, 1536, 10 * 2 ** 20, 3 * 2 ** 30].map(bytes)).toEqual(["0 B", "1023 B", "1.5 KiB", "10 MiB", "3.0 GiB"]);
  expect([-5, 59_000, 90_000, 600_000, 3_600_000, 5_400_000, 3 * 86_400_000].map(duration)).toEqual([
    ...["0 s", "59 s", "1 min 30 s", "10 min", "1 h", "1 h 30 min", "3 days"],
  ]);
  expect([4.21, 120.4, 1500, 12_400].map(milliseconds)).toEqual(["4.2 ms", "120 ms", "1.5 s", "12 s"]);
  expect([counted(1, "file"), counted(2, "file"), counted(0, "sandbox", "sandboxes")]).toEqual(["1 file", "2 files", "0 sandboxes"]);
  expect(fullTime("no time")).toBe("no time");
});

test("ports that listen, from the kernel's table; anything else is left out", () => {
  const line = (port: string, state: string) =>
    `   0: 00000000:${port} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0`;
  const six = `   1: 00000000000000000000000001000000:0BB8 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000`;
  const text = ["  sl  local_address", line("1F90", "0A"), line("1F91", "01"), line("C33F", "0A"), line("1F90", "0A"), six, "<b>: x 0A"];
  expect(portsIn(text.join("\n"))).toEqual([3000, 8080]);
});

test("pairs of a form, and what is no pair", () => {
  expect(readPairs("a=1\n\n b =x=y\n", "Metadata")).toEqual({ a: "1", b: "x=y" });
  expect(() => readPairs("=1", "Metadata")).toThrow("is not key=value");
});

test("a build order from a form", () => {
  const wish = { from: "image", base: "debian:13", commands: "apt-get update\n\n  true ", start: " serve " } as const;
  expect(orderOf(wish)).toEqual({
    fromImage: "debian:13",
    steps: [
      { type: "RUN", args: ["apt-get update", "root"] },
      { type: "RUN", args: ["true", "root"] },
    ],
    startCmd: "serve",
  });
});

test("the tree's visible lines; a name that a sandbox gives leads nowhere else", () => {
  const entry = (name: string, type: EntryInfo["type"]) => ({ name, type, size: 1 }) as EntryInfo;
  const known = new Map([
    ["/r", [entry("d", "directory"), entry("f", "file")]],
    ["/r/d", [entry("g", "file")]],
  ]);
  const shown = (open: string[]) => linesOf("/r", known, new Set(open)).map(({ path, depth }) => `${depth} ${path}`);
  expect(shown([])).toEqual(["1 /r/d", "1 /r/f"]);
  expect(shown(["/r/d"])).toEqual(["1 /r/d", "2 /r/d/g", "1 /r/f"]);
  expect([join("/", "a"), join("/a", "../../etc/passwd"), parentOf("/a"), parentOf("/a/b")]).toEqual([
    "/a",
    "/a/.._.._etc_passwd",
    "/",
    "/a",
  ]);
});
