import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { Sandbox as OurSandbox } from "@boxyard/sdk";
import { usePlatform } from "../support/platform.ts";
import { connection, createSandbox, reconnect } from "../support/sandbox.ts";

// So that the first resume is a wake, whose processes were never ended.
const platform = usePlatform({ env: { BOXYARD_WAKE_CACHE_SECONDS: "300" } });
const BOOT_ID = "/proc/sys/kernel/random/boot_id";
const VERSION_4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\n$/;

/** A client's sandbox: the public client's or ours. */
interface Runner {
  readonly commands: { run(command: string): Promise<{ readonly stdout: string }> };
}
const bootIdOf = async ({ commands }: Runner) => (await commands.run(`cat ${BOOT_ID}`)).stdout;

test("a boot identity lasts as long as the memory: over a wake, a restore and a rollback; forks and boots from the disk have new ones", async () => {
  await using held = await createSandbox(platform());
  const { client, id } = held;
  const again = async () => bootIdOf((await reconnect(platform(), id)).client);
  const first = await bootIdOf(client);
  await using other = await createSandbox(platform());
  const seen = new Set([first, await bootIdOf(other.client), readFileSync(BOOT_ID, "utf8")]);
  expect(seen.size).toBe(3);

  await client.pause();
  expect(await again()).toBe(first);
  await client.pause();
  // The next server finds it in its image alone.
  await platform().stop();
  await platform().restart();
  expect(await again()).toBe(first);

  const ours = await OurSandbox.connect(id, connection(platform()));
  const { snapshotId } = await ours.createSnapshot();
  const copies = [
    ...(await ours.fork({ count: 2 })).map(({ sandbox }) => sandbox),
    await OurSandbox.create(snapshotId, connection(platform())),
  ] as OurSandbox[];
  for (const copy of copies) {
    seen.add(await bootIdOf(copy));
    await copy.kill();
  }
  expect(seen.size).toBe(6);

  // A boot from the disk: because only that was kept, and because the client asks for it.
  await ours.pause({ keepMemory: false });
  seen.add(await again());
  await ours.pause();
  await platform().api({ method: "POST", path: `/sandboxes/${id}/connect`, body: { timeout: 300, memory: false } });
  seen.add(await again());
  expect(seen.size).toBe(8);
  for (const one of seen) expect(one).toMatch(VERSION_4);
  await ours.rollback(snapshotId);
  expect(await bootIdOf(ours)).toBe(first);
}, 120_000);
