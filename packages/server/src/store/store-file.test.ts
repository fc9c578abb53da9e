import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StoreFile } from "./store-file.ts";

test("a file that cannot be looked at is away, and no error of the kernel's is thrown at who asks", () => {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-store-file-"));
  const inner = join(directory, "data");
  mkdirSync(inner);
  writeFileSync(join(inner, "db"), "");
  const never = () => Promise.reject(new Error("not to be called"));
  const file = new StoreFile(join(inner, "db"), { copyTo: never, renewLog: never });
  expect(file.trouble()).toBeUndefined();
  rmSync(inner, { recursive: true });
  writeFileSync(inner, "a file in the directory's place");
  expect(file.trouble()).toMatchObject({ code: "unavailable", reason: "store_unavailable" });
  rmSync(directory, { recursive: true });
});
