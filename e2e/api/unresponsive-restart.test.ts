import { expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { processesOf } from "../support/agent-process.ts";
import { usePlatform } from "../support/platform.ts";
import { createSandbox } from "../support/sandbox.ts";

const platform = usePlatform({ env: { BOXYARD_PROBE_SECONDS: "1", BOXYARD_ON_UNRESPONSIVE: "restart" } });

interface Detail {
  readonly state: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly startedAt: string;
  readonly endAt: string;
}

test("a sandbox whose agent is stopped boots anew from its disk: its client goes on with the files, its processes are gone", async () => {
  await using sandbox = await createSandbox(platform(), { metadata: { kept: "yes" }, timeoutMs: 600_000, envs: { MINE: "1" } });
  const get = async () => (await platform().api({ path: `/sandboxes/${sandbox.id}` })).body as Detail;
  const events = async () =>
    ((await platform().api({ path: `/v2/sandboxes/${sandbox.id}/logs` })).body as { logs: { fields: { event: string } }[] }).logs.map(
      ({ fields }) => fields.event,
    );
  const before = await get();
  const bootId = async () => (await sandbox.asRoot("cat /proc/sys/kernel/random/boot_id; cut -d' ' -f22 /proc/1/stat")).stdout;
  const firstBoot = await bootId();
  await sandbox.asRoot("sleep 1000 >/dev/null 2>&1 &");
  const sleepers = "pgrep -c '^sleep$'";
  await eventually("it sleeps", async () => (await sandbox.asRoot(sleepers)).stdout === "1\n");
  // Written last, and not synced by any program.
  await sandbox.asRoot("echo kept > /root/last");
  const stoppedAt = Date.now();
  process.kill(processesOf(platform(), sandbox.id).agent, "SIGSTOP");
  await eventually("it was booted anew", async () => (await events()).includes("booted_anew"), { withinMs: 60_000 });
  expect((await sandbox.asRoot(`cat /root/last; echo $MINE; ${sleepers}`)).stdout).toBe("kept\n1\n0\n");
  expect(await bootId()).not.toBe(firstBoot);
  const after = await get();
  expect([after.state, after.metadata]).toEqual(["running", before.metadata]);
  // It has the rest of its lifetime, from when the boot began; the boot itself does not count.
  expect(Date.parse(after.endAt)).toBeGreaterThanOrEqual(Date.parse(before.endAt));
  expect(Date.parse(after.endAt) - Date.parse(after.startedAt)).toBeLessThanOrEqual(Date.parse(before.endAt) - stoppedAt);
}, 90_000);
