import { beforeAll, describe, expect, test } from "bun:test";
import { eventually, type FaultPoint, type LogLine, settledDifferences, takeSnapshot } from "@boxyard/testkit";
import { CREATE_POINTS, KILL_POINTS } from "@boxyard/testkit/fault-points";
import { keptSandboxes } from "../support/ours.ts";
import { usePlatform } from "../support/platform.ts";
import { createSandbox, type HeldSandbox } from "../support/sandbox.ts";

/*
 * The real server is killed as by `kill -9` at each step of a create and of a kill. When it runs again, complete sandboxes are there, every unfinished one
 * is gone from the machine and named in the log, and a sandbox that ran all the time has not noticed.
 */

const platform = usePlatform({ faults: true });
let bystander: HeldSandbox;
let linesBefore = 0;

/** Counts into its output from when nobody listens any more. One process: snapshots must not see others come and go. */
const COUNT = `
import itertools, os, time
while not os.path.exists("/tmp/go"): time.sleep(0.02)
for i in itertools.count(1):
    print(i, flush=True)
    with open("/tmp/count.new", "w") as file: file.write(str(i))
    os.rename("/tmp/count.new", "/tmp/count")
    time.sleep(0.1)
`;
let counter: number;

beforeAll(async () => {
  bystander = await createSandbox(platform(), { timeoutMs: 600_000 });
  await bystander.client.files.write("/tmp/count.py", COUNT);
  const command = await bystander.client.commands.run("exec python3 /tmp/count.py", { background: true, timeoutMs: 0 });
  counter = command.pid;
  await command.disconnect();
  await bystander.asRoot("touch /tmp/go");
});

const listed = async () =>
  ((await platform().api({ path: "/v2/sandboxes" })).body as { sandboxID: string }[]).map(({ sandboxID }) => sandboxID);

async function health(id: string): Promise<number> {
  return (await fetch(`${platform().apiUrl}/health`, { headers: { "Svc-Sandbox-Id": id, "Svc-Sandbox-Port": "49983" } })).status;
}

/** Lets the server die at `point` of what `work` asks for, and starts it again. Returns what the new one has logged. */
async function dieDuring(point: FaultPoint, work: () => Promise<unknown>): Promise<() => LogLine[]> {
  platform().inject({ ...point, act: "die" });
  const answer = work().catch(() => undefined);
  await platform().died();
  expect(await answer).toBeUndefined();
  linesBefore = platform().log().length;
  await platform().restart();
  return () => platform().log().slice(linesBefore);
}

const about = (lines: readonly LogLine[], id: string) => lines.filter(({ sandboxId }) => sandboxId === id).map(({ msg }) => msg);
const create = () => platform().api({ method: "POST", path: "/v2/sandboxes", body: { templateID: "base" } });
const kill = (id: string) => platform().api({ method: "DELETE", path: `/sandboxes/${id}` });

/** The bystander lives, the log says so, and of others nothing is kept. */
async function onlyBystander(log: () => LogLine[]): Promise<void> {
  expect(about(log(), bystander.id)).toEqual(["sandbox adopted"]);
  expect(await listed()).toEqual([bystander.id]);
  expect(await health(bystander.id)).toBe(204);
  await eventually("nothing else is kept", () => new Set(keptSandboxes(platform())).size === 1);
}

const first = (points: readonly Omit<FaultPoint, "when">[]) => points.map((point) => ({ ...point, when: "before" as const }));
const last = (points: readonly Omit<FaultPoint, "when">[]) => {
  const point = points.at(-1);
  if (!point) throw new Error("there are no steps");
  return { ...point, when: "after" as const };
};

describe("kill -9 in a create", () => {
  for (const point of first(CREATE_POINTS)) {
    test(`before ${point.layer}'s ${point.step} leaves nothing of it`, async () => {
      const before = takeSnapshot();
      const log = await dieDuring(point, create);
      const others = log().filter(({ msg, cause }) => msg === "sandbox not adopted" && cause === "unfinished");
      // Before its intent is written nothing is known of it, for nothing is there.
      expect(others).toHaveLength(point.step === "create intent" ? 0 : 1);
      await onlyBystander(log);
      expect(await settledDifferences(platform().dataDir, before)).toEqual([]);
    });
  }

  test("after its last step leaves the sandbox, which answers and can be killed", async () => {
    const log = await dieDuring(last(CREATE_POINTS), create);
    const made = (await listed()).filter((id) => id !== bystander.id);
    expect(made).toHaveLength(1);
    const [id = ""] = made;
    expect(about(log(), id)).toEqual(["sandbox adopted"]);
    expect(await health(id)).toBe(204);
    expect((await kill(id)).status).toBe(204);
    await onlyBystander(log);
  });
});

describe("kill -9 in a kill", () => {
  for (const point of first(KILL_POINTS)) {
    test(`before ${point.layer}'s ${point.step} ${point.step === "kill intent" ? "leaves the sandbox as it was" : "is finished by the next server"}`, async () => {
      const before = takeSnapshot();
      const { id } = await createSandbox(platform());
      const log = await dieDuring(point, () => kill(id));
      if (point.step === "kill intent") {
        expect(about(log(), id)).toEqual(["sandbox adopted"]);
        expect(await health(id)).toBe(204);
        expect((await kill(id)).status).toBe(204);
      } else {
        expect(log().filter(({ sandboxId, msg }) => sandboxId === id && msg === "sandbox not adopted")).toMatchObject([
          { cause: "requested" },
        ]);
        expect((await kill(id)).status).toBe(404);
        expect(await health(id)).toBe(502);
      }
      await onlyBystander(log);
      expect(await settledDifferences(platform().dataDir, before)).toEqual([]);
    });
  }
});

test("a command that ran through all of it has lost nothing of its output", async () => {
  const reached = Number((await bystander.asRoot("cat /tmp/count")).stdout);
  expect(reached).toBeGreaterThan(CREATE_POINTS.length + KILL_POINTS.length);
  let output = "";
  const again = await bystander.client.commands.connect(counter, {
    onStdout: (text) => {
      output += text;
    },
  });
  const numbers = () => output.trim().split("\n").map(Number);
  await eventually("it goes on counting", () => numbers().length > reached + 3);
  expect(numbers()).toEqual(numbers().map((_, index) => index + 1));
  expect(await again.kill()).toBe(true);
});
