import { expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { createSandbox } from "../support/sandbox.ts";
import { connectAs, seenByNobody } from "./support/local-user.ts";

/* What is tried here is tried as a user of the machine who is not root; each test names a guarantee of SECURITY.md. */

const platform = usePlatform();
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

test("nothing of the data directory and of /run/boxyard can be read or written", async () => {
  await using _sandbox = await createSandbox(platform());
  const { dataDir } = platform();
  expect(await seenByNobody(dataDir)).toEqual([]);
  expect(await seenByNobody("/run/boxyard")).toEqual([]);
  // Each by itself too: a directory that somebody opens later must not open what is in it.
  expect([modeOf(dataDir), modeOf(join(dataDir, "boxyard.db")), modeOf(join(dataDir, "pool"))]).toEqual(["700", "600", "700"]);
});

test("the address of a sandbox can't be reached, by any port, while the server reaches it", async () => {
  await using sandbox = await createSandbox(platform());
  await sandbox.asRoot("nohup python3 -m http.server 8000 --bind 0.0.0.0 >/dev/null 2>&1 &");
  const address = (await sandbox.asRoot("hostname -I")).stdout.trim();
  await eventually("the service answers root", async () => (await connectAs("root", address, 8000)) === "open");
  for (const port of [8000, 49983, 8001]) expect([port, await connectAs("nobody", address, port)]).toEqual([port, "refused"]);
  expect(await connectAs("root", address, 49983)).toBe("open");
  const { headers } = await fetch(`http://${sandbox.client.getHost(8000)}/`);
  expect(headers.get("server")).toStartWith("SimpleHTTP");
});
