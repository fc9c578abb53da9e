import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { eventually, type FaultPoint } from "@boxyard/testkit";
import { BUILD_POINTS } from "@boxyard/testkit/fault-points";
import { keptSandboxes } from "../support/ours.ts";
import { usePlatform } from "../support/platform.ts";

const platform = usePlatform({ faults: true });

interface Requested {
  readonly templateID: string;
  readonly buildID: string;
}

interface Status {
  readonly status: string;
  readonly logEntries: { readonly message: string }[];
  readonly reason?: { readonly message: string };
}

const NAME = `crash-${crypto.randomUUID().slice(0, 8)}`;
const run = (command: string) => ({ type: "RUN", args: [command] });

/** Has every kind of step in it; `stamp` makes those after the first RUN new. */
function bodyOf(stamp: string): object {
  const stage = { name: "stage", fromImage: "e2bdev/base", steps: [run("echo stage > /tmp/stage")] };
  const first = [
    { type: "USER", args: ["root"] },
    { type: "WORKDIR", args: ["/crash"] },
    { type: "ENV", args: ["A", "1"] },
  ];
  const copy = { type: "COPY", fromStage: "stage", args: ["/tmp/stage", "/crash/"], sources: [{ path: "/tmp/stage" }] };
  const steps = [...first, run("echo same > same"), run(`echo ${stamp} > stamp; head -c 20000000 /dev/zero > big`), copy];
  return { fromImage: "e2bdev/base", stages: [stage], steps, startCmd: "sleep 1000", readyCmd: "[ -e stamp ]" };
}

/** With `mayDie` the server's answer may not come. */
async function start(body: object, mayDie = false): Promise<Requested> {
  const requested = (await platform().api({ method: "POST", path: "/v3/templates", body: { name: NAME } })).body as Requested;
  const path = `/v2/templates/${requested.templateID}/builds/${requested.buildID}`;
  const answer = platform().api({ method: "POST", path, body });
  expect([202, ...(mayDie ? [undefined] : [])]).toContain((await (mayDie ? answer.catch(() => undefined) : answer))?.status);
  return requested;
}

const status = async ({ templateID, buildID }: Requested) =>
  (await platform().api({ path: `/templates/${templateID}/builds/${buildID}/status` })).body as Status;
const layers = () => readdirSync(join(platform().dataDir, "pool/layers")).sort();
const making = () => readdirSync(join(platform().dataDir, "pool/making"));

async function ended(build: Requested): Promise<Status> {
  let seen: Status | undefined;
  const isOver = async () => {
    seen = await status(build);
    return seen.status === "ready" || seen.status === "error";
  };
  await eventually("the build ends", isOver, { withinMs: 30_000 });
  return seen as Status;
}

describe("kill -9 in a build", () => {
  const last = BUILD_POINTS.at(-1);
  if (!last) throw new Error("there are no steps");
  const points: FaultPoint[] = [...BUILD_POINTS.map((point) => ({ ...point, when: "before" as const })), { ...last, when: "after" }];
  // From when on the next server can finish the build.
  const whole = BUILD_POINTS.findIndex(({ step }) => step === "build tags");

  for (const [place, point] of points.entries()) {
    const outcome = place < whole ? "fails it, and says why" : "is no loss: the next server finishes it";
    test(`${point.when} '${point.step}' ${outcome}`, async () => {
      platform().inject({ ...point, act: "die" });
      const build = await start(bodyOf(crypto.randomUUID()), true);
      await platform().died();
      await platform().restart();
      const { status: seen, reason } = await status(build);
      if (place < whole)
        expect([seen, reason?.message]).toEqual(["error", expect.stringContaining("The server ended while it was building")]);
      else expect([seen, reason]).toEqual(["ready", undefined]);
      await eventually("no sandbox of it is left", () => keptSandboxes(platform()).length === 0);
      expect(layers().filter((entry) => !/^[0-9a-f]{64}$/.test(entry))).toEqual([]);
      expect(making()).toEqual([]);
    }, 30_000);
  }

  test("leaves what was finished before it for the next build", async () => {
    const { status: seen, logEntries } = await ended(await start(bodyOf(crypto.randomUUID())));
    const cached = logEntries.flatMap(({ message }) => /^CACHED \[((?:builder|stage) \w+)/.exec(message)?.[1] ?? []);
    expect([seen, cached]).toEqual(["ready", ["stage base", "stage 1", "builder 1", "builder 2", "builder 3", "builder 4"]]);
  }, 60_000);
});

test("a server that ends in an orderly way ends its builds", async () => {
  const build = await start({ fromImage: "e2bdev/base", steps: [run("sleep 100")] });
  await eventually("the step runs", async () => keptSandboxes(platform()).length > 0);
  await platform().stop();
  expect(keptSandboxes(platform())).toEqual([]);
  await platform().restart();
  expect((await status(build)).reason?.message).toContain("The server is shutting down");
  expect((await platform().api({ method: "DELETE", path: `/templates/${NAME}` })).status).toBe(204);
}, 60_000);
