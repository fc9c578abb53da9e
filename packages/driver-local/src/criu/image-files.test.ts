import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rebaseUserNamespace, remappedNames } from "./image-files.ts";

const directory = mkdtempSync(join(tmpdir(), "boxyard-images-"));
afterAll(() => rmSync(directory, { recursive: true }));

/** `reg_file_entry.name`, with bytes before and after it as in `files.img`. */
const entry = (name: string) => {
  const length = Buffer.byteLength(name);
  const size = length < 128 ? [length] : [(length & 127) | 128, length >> 7];
  return Buffer.concat([Buffer.from([0x28, 0, 0x32, ...size]), Buffer.from(name), Buffer.from("11")]);
};

test("names that CRIU gave to deleted files are found, whatever other names there are", () => {
  const long = `/${"d".repeat(200)}/link_remap.12`;
  const names = ["/root/link_remap.4", long, "/ü/link_remap.123"];
  const others = ["/root/link_remap.x", "/root/link_remap.5.txt", "/link_remap.6/file"];
  expect(remappedNames(Buffer.concat([...names, ...others, names[0] as string].map(entry)))).toEqual(names);
  expect(remappedNames(Buffer.from("link_remap.1"))).toEqual([]);
});

test("a range of ids is replaced in an image that names it twice; any other image is refused", () => {
  const [image, copy] = [join(directory, "userns-9.img"), join(directory, "copy")];
  // uid_map and gid_map: inside 0, outside 0x1000_0000, 65,536 of them.
  const extent = (outside: readonly number[]) => [0x0a, 12, 0x08, 0, 0x10, ...outside, 0x18, 0x80, 0x80, 4];
  const [old, fresh] = [
    [0x80, 0x80, 0x80, 0x80, 1],
    [0x80, 0x80, 0x84, 0x80, 1],
  ] as const;
  writeFileSync(image, Buffer.from([...extent(old), ...extent(old)]));
  rebaseUserNamespace(image, 0x1000_0000, 0x1001_0000, copy);
  expect([...readFileSync(copy)]).toEqual([...extent(fresh), ...extent(fresh)]);
  for (const [from, to] of [
    [0x1001_0000, 0x1000_0000],
    [0x1000_0000, 1],
  ] as const) {
    expect(() => rebaseUserNamespace(image, from, to, copy)).toThrow("other ids");
  }
});
