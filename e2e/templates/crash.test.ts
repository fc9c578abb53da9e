import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@boxyard/testkit";
import { keptSandboxes } from "../support/ours.ts";
import { usePlatform } from "../support/platform.ts";

const platform = usePlatform();

interface Requested {
  readonly templateID: string;
  readonly buildID: string;
}

interface Status {
  readonly status: string;
  readonly logEntries: { readonly message: string }[];
  readonly reason?: { readonly message: string };
}

async function start(name: string, steps: readonly string[]): Promise<Requested> {
  const requested = (await platform().api({ method: "POST", path: "/v3/templates", body: { name } })).body as Requested;
  const path = `/v2/templates/${requested.templateID}/builds/${requested.buildID}`;
  const body = { fromImage: "e2bdev/base", steps: steps.map((step) => ({ type: "RUN", args: [step] })) };
  expect((await platform().api({ method: "POST", path, body })).status).toBe(202);
  return requested;
}

const status = async ({ templateID, buildID }: Requested) =>
  (await platform().api({ path: `/templates/${templateID}/builds/${buildID}/status` })).body as Status;
const remove = (name: string) => platform().api({ method: "DELETE", path: `/templates/${name}` });
const layers = () => readdirSync(join(platform().dataDir, "pool/layers")).sort();

async function ended(build: Requested): Promise<Status> {
  let seen: Status | undefined;
  await eventually("the build ends", async () => {
    seen = await status(build);
    return seen.status === "ready" || seen.status === "error";
  });
  return seen as Status;
}

test("a server killed at any moment of a build leaves it failed or finished, and nothing half-made", async () => {
  const stamp = crypto.randomUUID().slice(0, 8);
  const steps = [`echo 1 ${stamp} > one`, `echo 2 ${stamp} > two; head -c 20000000 /dev/zero > big`, `echo 3 ${stamp} > three`];
  const name = `crash-${stamp}`;
  let ready = 0;
  // A create, commands, freezes and commits: the moments between them, every 150 ms.
  for (let afterMs = 0; afterMs <= 1500; afterMs += 150) {
    const build = await start(name, steps);
    await Bun.sleep(afterMs); // The moment of the kill is what is being varied.
    await platform().kill9();
    await platform().restart();
    const seen = await status(build);
    if (seen.status === "ready") ready++;
    else expect([seen.status, seen.reason?.message]).toEqual(["error", expect.stringContaining("The server ended while it was building")]);
    await eventually("no sandbox of it is left", () => keptSandboxes(platform()).length === 0);
    expect(layers().filter((entry) => !/^[0-9a-f]{64}$/.test(entry))).toEqual([]);
  }
  const last = await ended(await start(name, steps));
  expect(last.status).toBe("ready");
  // What was finished before a kill was not built again.
  expect(last.logEntries.some(({ message }) => message.startsWith("CACHED [builder 1/3]"))).toBe(true);
  expect(ready).toBeLessThan(11);
  await remove(name);
}, 120_000);

test("a server that ends in an orderly way ends its builds", async () => {
  const name = `stop-${crypto.randomUUID().slice(0, 8)}`;
  const build = await start(name, ["sleep 100"]);
  await eventually("the step runs", async () => keptSandboxes(platform()).length > 0);
  await platform().stop();
  expect(keptSandboxes(platform())).toEqual([]);
  await platform().restart();
  expect((await status(build)).reason?.message).toContain("The server is shutting down");
  await remove(name);
}, 60_000);
