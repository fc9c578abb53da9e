import { expect, test } from "bun:test";
import type { EntryInfo } from "@boxyard/sdk";
import { remoteTree } from "./remote-tree.ts";

const entry = (path: string, more: Partial<EntryInfo> = {}): EntryInfo => ({
  name: path,
  path,
  type: "file",
  size: 1,
  mode: 0o4755,
  permissions: "",
  owner: "",
  group: "",
  modifiedTime: undefined,
  isSymlink: false,
  metadata: {},
  ...more,
});
const link = (path: string, symlinkTarget: string) => entry(path, { isSymlink: true, symlinkTarget });

test("sorts a listing, without bits that give power", () => {
  const tree = remoteTree("/r", [entry("/r/a/f"), entry("/r/a", { type: "directory" }), link("/r/a/l", "/r/a/f")]);
  expect(tree).toEqual({
    directories: ["a"],
    files: [{ path: "a/f", source: "/r/a/f", size: 1, mode: 0o755 }],
    links: [{ path: "a/l", target: "../a/f" }],
    skipped: [],
  });
});

test("names that lead out of the folder are left out", () => {
  const hostile = ["/etc/passwd", "/r/../etc/passwd", "/r/a/../../b", "/r//a", "/rx/a", "/r/", "/r/a\0b"];
  expect(
    remoteTree(
      "/r",
      hostile.map((path) => entry(path)),
    ),
  ).toEqual({ directories: [], files: [], links: [], skipped: hostile });
});

test("links that lead out of the folder are left out", () => {
  expect(remoteTree("/r", [link("/r/l", "/etc/passwd"), link("/r/m", "/r/../etc")]).skipped).toEqual(["l", "m"]);
});
