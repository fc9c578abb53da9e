import { expect, test } from "bun:test";
import { MAX_OCTAL_SIZE, tarEnd, tarEntry, tarHeader, tarPadding } from "./tar.ts";

/** What `tar` says of an archive. */
async function listed(...parts: readonly Uint8Array[]): Promise<string> {
  const child = Bun.spawn(["tar", "--list", "--verbose", "--numeric-owner", "--utc"], { stdin: new Blob(parts as never), stdout: "pipe" });
  return new Response(child.stdout).text();
}

test("tar reads the headers, and finds the end", async () => {
  const text = new TextEncoder().encode("hello");
  const found = await listed(
    ...[tarHeader({ name: "a.txt", size: 5, mode: 0o640 }), text, tarPadding(5)],
    tarHeader({ name: "d/", size: 0, mode: 0o755, type: "directory" }),
    tarHeader({ name: "link", size: 0, mode: 0o777, type: "symlink", target: "a.txt" }),
    tarEnd(),
  );
  expect(
    found
      .trim()
      .split("\n")
      .map((line) => line.replace(/ +/g, " ")),
  ).toEqual([
    "-rw-r----- 0/0 5 1970-01-01 00:00 a.txt",
    "drwxr-xr-x 0/0 0 1970-01-01 00:00 d/",
    "lrwxrwxrwx 0/0 0 1970-01-01 00:00 link -> a.txt",
  ]);
});

test("a size that the digits do not hold is there too, and a long name is cut off", async () => {
  const size = 2 ** 40;
  expect(await listed(tarHeader({ name: "n".repeat(120), size }))).toMatch(
    new RegExp(`^-rw-r--r-- 0/0 +${size} 1970-01-01 00:00 n{100}\\n`),
  );
  expect(MAX_OCTAL_SIZE).toBe(0o77777777777);
  expect([tarPadding(0).length, tarPadding(1).length, tarPadding(512).length]).toEqual([0, 511, 0]);
});

test("names and targets of any length and any letters, and times", async () => {
  const name = `${"d/".repeat(60)}größe`;
  const found = await listed(
    ...tarEntry({ name, size: 0, modified: 86_400 }),
    ...tarEntry({ name: "l", size: 0, type: "symlink", target: "t".repeat(150) }),
    ...tarEntry({ name: "plain", size: 0 }),
    tarEnd(),
  );
  expect(found).toContain("1970-01-02 00:00 ");
  expect(found).toContain(`l -> ${"t".repeat(150)}\n`);
  expect(found.split("\n")).toHaveLength(4);
  expect(tarEntry({ name: "plain", size: 0 })).toHaveLength(1);
});
