import { expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import { usePlatform } from "../support/platform.ts";
import { createSandbox } from "../support/sandbox.ts";
import { seenByNobody } from "./support/local-user.ts";

/* What is tried here is tried as a user of the machine who is not root; each test names a guarantee of SECURITY.md. */

const platform = usePlatform();
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

test("nothing of the data folder and of /run/boxyard can be read or written", async () => {
  await using _sandbox = await createSandbox(platform());
  const { dataDir } = platform();
  expect(await seenByNobody(dataDir)).toEqual([]);
  expect(await seenByNobody("/run/boxyard")).toEqual([]);
  // Each by itself too: a folder that somebody opens later must not open what is in it.
  expect([modeOf(dataDir), modeOf(join(dataDir, "boxyard.db")), modeOf(join(dataDir, "pool"))]).toEqual(["700", "600", "700"]);
});
