import { afterEach, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Sandbox, Volume } from "@boxyard/sdk";
import { runProgram } from "@boxyard/testkit";
import { boxyard } from "../cli/support.ts";
import { usePlatform } from "../support/platform.ts";

/* A volume that is lost under the server: each error that it causes has its name, for programs and on the command line. */

const platform = usePlatform();
const target = () => ({ apiUrl: platform().apiUrl, apiKey: platform().apiKey });
const made: Volume[] = [];
afterEach(async () => {
  for (const volume of made.splice(0)) await volume.remove();
});

async function lose(volume: Volume, how: "subvolume" | "all"): Promise<void> {
  const directory = join(platform().dataDir, "pool/volumes", volume.volumeId);
  const removed = await runProgram(["btrfs", "subvolume", "delete", join(directory, "disk")]);
  expect(removed).toMatchObject({ exitCode: 0 });
  if (how === "all") await rm(directory, { recursive: true });
  expect(existsSync(join(directory, "disk"))).toBe(false);
}

for (const how of ["subvolume", "all"] as const) {
  test(`without its ${how === "all" ? "directory" : "files"}: a create, a snapshot's start, a resume and its files name it, and nothing is lost by that`, async () => {
    const name = `lost-${crypto.randomUUID().slice(0, 8)}`;
    const volume = await Volume.create(name, { ...target(), sizeMB: 64 });
    made.push(volume);
    const options = { ...target(), volumes: { "/data": volume } };
    const sandbox = await Sandbox.create(options);
    await sandbox.commands.run("echo kept > ~/own; echo gone > /data/note");
    const { snapshotId, volumes } = await sandbox.createSnapshot({ keepMemory: false });
    expect(volumes).toEqual([{ name, path: "/data", readOnly: false }]);
    await sandbox.pause({ keepMemory: false });
    await lose(volume, how);

    const named = `Volume '${name}' is ${how === "all" ? "not on this machine any more" : "damaged"}`;
    const refused = async (work: Promise<unknown>) =>
      expect(((await work.then(String, (error) => error)) as Error).message).toContain(named);
    await refused(Sandbox.create(options));
    await refused(Sandbox.create(snapshotId, options));
    await refused(sandbox.resume());
    await refused(volume.files.read("/note"));
    await refused(volume.clone(`${name}-copy`));
    const run = await boxyard(platform(), ["run", "-v", `${name}:/data`, "--", "true"]);
    expect([run.exitCode === 0, run.stderr]).toEqual([false, expect.stringContaining(named)]);
    expect(run.stderr).not.toContain("template");
    const resume = await boxyard(platform(), ["sandbox", "resume", sandbox.sandboxId]);
    expect([resume.exitCode === 0, resume.stderr]).toEqual([false, expect.stringContaining(named)]);
    expect((await boxyard(platform(), ["volume", "list"])).stdout).toMatch(new RegExp(`^${name} .* damaged`, "m"));

    // The sandbox is as it was, and the snapshot starts without the volume.
    expect((await sandbox.getInfo()).state).toBe("paused");
    const other = await Sandbox.create(snapshotId, target());
    expect((await other.commands.run("cat ~/own; ls /data 2>&1 | head -1")).stdout).toStartWith("kept\n");
    await other.kill();
    await sandbox.kill();
    await Sandbox.deleteSnapshot(snapshotId, target());
    expect(await volume.remove()).toBe(true);
  }, 120_000);
}
