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

test("links keep what stands in them, also where it leads nowhere", () => {
  const texts = { "/r/dangling": "nowhere", "/r/a/up": "b/../../f", "/r/a/abs": "/r/f", "/r/loop": "loop" };
  const entries = [...Object.keys(texts).map((path) => link(path, path)), entry("/r/a/b", { type: "directory" })];
  expect(remoteTree("/r", entries, new Map(Object.entries(texts)))).toMatchObject({
    links: [
      { path: "dangling", target: "nowhere" },
      { path: "a/up", target: "b/../../f" },
      { path: "a/abs", target: "../f" },
      { path: "loop", target: "loop" },
    ],
    skipped: [],
  });
});

test("links that lead out through other links are left out", () => {
  const texts = { "/r/deep/up": "..", "/r/deep/out": "up/../secret", "/r/abs": "/etc/passwd", "/r/rel": "../x", "/r/deep/in": "up/deep" };
  const tree = remoteTree(
    "/r",
    Object.keys(texts).map((path) => link(path, path)),
    new Map(Object.entries(texts)),
  );
  expect(tree.links.map(({ path }) => path)).toEqual(["deep/up", "deep/in"]);
  expect([...tree.skipped].sort()).toEqual(["abs", "deep/out", "rel"]);
});

test("names that lead out of the directory are left out", () => {
  const hostile = ["/etc/passwd", "/r/../etc/passwd", "/r/a/../../b", "/r//a", "/rx/a", "/r/", "/r/a\0b"];
  expect(
    remoteTree(
      "/r",
      hostile.map((path) => entry(path)),
    ),
  ).toEqual({ directories: [], files: [], links: [], skipped: hostile });
});

test("links that lead out of the directory are left out", () => {
  expect(remoteTree("/r", [link("/r/l", "/etc/passwd"), link("/r/m", "/r/../etc")]).skipped).toEqual(["l", "m"]);
});
