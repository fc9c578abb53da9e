import { expect, test } from "bun:test";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT, eventually, runProgram } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { createSandbox, reconnect } from "../support/sandbox.ts";

/** An image is tried one second after the pause. */
const platform = usePlatform({ own: true, env: { BOXYARD_WAKE_CACHE_SECONDS: "2" } });

test("a pause whose image turns out to be useless is resumed from memory, and log and doctor have said so before", async () => {
  const { dataDir, env } = platform();
  await using sandbox = await createSandbox(platform());
  const command = await sandbox.client.commands.run("exec sleep 1000", { background: true, timeoutMs: 0 });
  await command.disconnect();
  expect((await platform().api({ method: "POST", path: `/sandboxes/${sandbox.id}/pause`, body: {} })).status).toBe(204);
  const images = join(dataDir, "pool/generations", sandbox.id, "1/images");
  for (const name of readdirSync(images)) if (name.startsWith("core-")) rmSync(join(images, name));
  await eventually("the trial has failed", () =>
    platform()
      .log()
      .some(({ msg }) => msg.includes("could not be restored in a trial")),
  );
  const doctor = await runProgram(["./boxyard", "doctor"], { cwd: CHECKOUT, env: { ...process.env, ...env, BOXYARD_DATA: dataDir } });
  expect(doctor.stdout).toContain(`1 can be resumed with memory only as long as the server runs: ${sandbox.id}`);
  const again = await reconnect(platform(), sandbox.id);
  expect((await again.asRoot("cat /proc/[0-9]*/comm | grep -c sleep")).stdout).toBe("1\n");
}, 60_000);
