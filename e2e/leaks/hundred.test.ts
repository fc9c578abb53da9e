import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { eventually, settledDifferences, takeSnapshot } from "@boxyard/testkit";
import { CREATE_POINTS } from "@boxyard/testkit/fault-points";
import { keptSandboxes, openDescriptors } from "../support/ours.ts";
import { usePlatform } from "../support/platform.ts";
import { createSandbox } from "../support/sandbox.ts";

const platform = usePlatform({ faults: true });

/** Creates, uses and kills one sandbox. */
async function life(): Promise<void> {
  await using sandbox = await createSandbox(platform());
  expect((await sandbox.client.commands.run("echo alive")).stdout).toBe("alive\n");
}

test("a hundred sandboxes made and ended, some by a failure at each step, leave the machine and the server as they were", async () => {
  await Promise.all([life(), life(), life(), life()]); // Pools and connections that stay come into being.
  const before = takeSnapshot();
  const files = readdirSync(platform().dataDir);
  const descriptors = openDescriptors(platform().pid);
  for (let round = 0; round < Math.max(25, CREATE_POINTS.length); round++) {
    const point = CREATE_POINTS[round];
    if (point) platform().inject({ ...point, when: "after", act: "internal" });
    const ends = await Promise.allSettled([life(), life(), life(), life()]);
    const failures = ends.flatMap((end) => (end.status === "rejected" ? [String(end.reason)] : []));
    expect([round, failures.length, failures.join()]).toEqual([
      round,
      point ? 1 : 0,
      point ? expect.stringContaining("could not be created") : "",
    ]);
  }
  expect(await settledDifferences(platform().dataDir, before)).toEqual([]);
  expect(keptSandboxes(platform())).toEqual([]);
  expect(readdirSync(platform().dataDir)).toEqual(files);
  // Connections to the API may be kept alive; one for each sandbox would be a hundred.
  await eventually("descriptors are given back", () => openDescriptors(platform().pid) <= descriptors + 8, { withinMs: 15_000 });
}, 180_000);

test("creates that fail leave nothing: an unknown template, a client that goes away", async () => {
  const before = takeSnapshot();
  for (let round = 0; round < 20; round++) {
    const gone = new AbortController();
    const created = fetch(`${platform().apiUrl}/sandboxes`, {
      method: "POST",
      headers: { "X-API-Key": platform().apiKey, "Content-Type": "application/json" },
      body: JSON.stringify({ templateID: round % 2 === 0 ? "base" : "no-such-template", timeout: 600 }),
      signal: gone.signal,
    }).catch(() => undefined);
    await Bun.sleep(round * 4); // The client leaves a little later each time.
    gone.abort();
    await created;
  }
  const listed = async () => (await platform().api({ path: "/v2/sandboxes" })).body as { sandboxID: string }[];
  // What had been made when its client left is a sandbox like any other, until its time is over; it can be ended.
  await eventually("everything kept is listed", async () => keptSandboxes(platform()).length === 2 * (await listed()).length);
  for (const { sandboxID } of await listed()) await platform().api({ method: "DELETE", path: `/sandboxes/${sandboxID}` });
  expect(await settledDifferences(platform().dataDir, before)).toEqual([]);
  expect(keptSandboxes(platform())).toEqual([]);
}, 60_000);
