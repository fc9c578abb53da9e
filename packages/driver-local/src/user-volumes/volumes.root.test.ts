import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { failure } from "@boxyard/driver/contract-suite";
import { HIDE_VOLUME } from "../driver/local-volumes.ts";
import { filesystemId, subvolumeId } from "../sys/btrfs.ts";
import { runCommand } from "../sys/run.ts";
import { never } from "../testing/machine.ts";
import { pointsOfAll } from "../testing/points.ts";
import { testProgram } from "../testing/test-program.ts";
import { useTestMachine } from "../testing/use-test-machine.ts";
import { createVolumeSteps } from "./create.ts";

const MIB = 1 << 20;
const LIMIT = { limitBytes: 16 * MIB };

describe("volumes", () => {
  setDefaultTimeout(60_000);
  const machine = useTestMachine();
  const volumes = () => machine.driver.volumes;
  const directory = () => join(machine.dataDir, "pool/volumes");
  const disk = (id: string) => join(directory(), id, "disk");
  const names = () => readdirSync(directory()).sort();
  const put = (id: string, path: string, text: string) =>
    volumes().content.write(id, path, new Blob([text]).stream(), { signal: never, force: true });
  const text = async (id: string, path: string) => {
    const { stream } = await volumes().content.read(id, path, { signal: never });
    return new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).text();
  };

  afterEach(async () => {
    machine.faults.after = () => {};
    for (const { id } of await volumes().list()) await volumes().remove(id);
    expect(names()).toEqual([]);
  });

  const dieAt = async (when: string, step: string, ...ids: readonly string[]) => {
    await machine.close();
    const argv = [process.execPath, testProgram("die-at-volume"), machine.dataDir, when, step, ...ids];
    const child = Bun.spawn(argv, { stdout: "ignore", stderr: "inherit" });
    await child.exited;
    expect(child.signalCode).toBe("SIGKILL");
    await machine.reopen();
  };

  for (const { when, name } of pointsOfAll(createVolumeSteps)) {
    test(`a server that is killed ${when} ${name} leaves a whole volume or none, and a whole copy or none`, async () => {
      const isWhole = when === "after" && name === "completeVolume";
      await dieAt(when, name, "v");
      expect(names()).toEqual(isWhole ? ["v"] : []);
      if (!isWhole) await volumes().create("v", LIMIT);
      await put("v", "note", "kept");
      await dieAt(when, name, "w", "v");
      expect(names()).toEqual(isWhole ? ["v", "w"] : ["v"]);
      if (!isWhole) await volumes().create("w", { ...LIMIT, from: "v" });
      expect(await text("w", "note")).toBe("kept");
    });
  }

  test("a server that is killed while it removes a volume removes the rest when it starts", async () => {
    await volumes().create("v", LIMIT);
    await dieAt("after", HIDE_VOLUME, "v");
    expect(names()).toEqual([]);
    await volumes().create("v", LIMIT);
  });

  test("its limit holds for a copy too, and stays after a restart", async () => {
    await volumes().create("v", { limitBytes: 8 * MIB });
    await volumes().content.write(
      "v",
      "base",
      new Blob([crypto.getRandomValues(new Uint8Array(65_536)), new Uint8Array(5 * MIB)]).stream(),
      {
        signal: never,
      },
    );
    await volumes().create("w", { limitBytes: 8 * MIB, from: "v" });
    await machine.reopen();
    expect((await volumes().get("w"))?.usedBytes).toBeGreaterThan(5 * MIB);
    const more = volumes().content.write("w", "more", new Blob([new Uint8Array(4 * MIB)]).stream(), { signal: never });
    expect(await failure(more)).toBe("resource_exhausted volume_full");
    const limit = join("/sys/fs/btrfs", filesystemId(disk("v")), "qgroups", `0_${subvolumeId(disk("v"))}`, "max_referenced");
    expect(Number(readFileSync(limit, "utf8"))).toBeLessThanOrEqual(8 * MIB);
  });

  test("a volume whose disk is gone is damaged, and can be removed", async () => {
    await volumes().create("v", LIMIT);
    await runCommand(["btrfs", "subvolume", "delete", disk("v")]);
    expect(await failure(volumes().get("v"))).toBe("data_loss bad_volume");
    expect(await volumes().list()).toMatchObject([{ id: "v", damaged: true }]);
  });

  test("no link in a volume leads out of it, on the way or at the end of a path", async () => {
    await volumes().create("v", LIMIT);
    const outside = join(machine.dataDir, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "secret"), "secret");
    symlinkSync(outside, join(disk("v"), "absolute"));
    symlinkSync("../../../../outside", join(disk("v"), "upward"));
    symlinkSync(join(outside, "secret"), join(disk("v"), "file"));
    symlinkSync("loop", join(disk("v"), "loop"));
    const { content } = volumes();
    for (const link of ["absolute", "upward"]) {
      for (const call of [
        content.stat("v", `${link}/secret`),
        content.read("v", `${link}/secret`, { signal: never }),
        content.remove("v", `${link}/secret`),
        content.update("v", `${link}/secret`, { mode: 0o666 }),
        put("v", `${link}/new`, "x"),
        content.makeDirectory("v", `${link}/new`, {}),
      ]) {
        expect([link, await failure(call)]).toEqual([link, "not_found path_not_found"]);
      }
      expect(await failure(content.list("v", link, { depth: 1 }))).toBe("failed_precondition not_a_directory");
    }
    expect(await failure(content.read("v", "file", { signal: never }))).toBe("not_found path_not_found");
    expect(await failure(content.update("v", "file", { mode: 0o666 }))).toBe("not_found path_not_found");
    expect(await failure(content.read("v", "loop", { signal: never }))).toBe("failed_precondition bad_link");
    expect(await content.stat("v", "file")).toMatchObject({ type: "symlink", target: join(outside, "secret") });
    // A link is replaced and removed, not what it names.
    await put("v", "file", "own");
    await content.remove("v", "absolute");
    expect(lstatSync(join(disk("v"), "file")).isFile()).toBe(true);
    expect(readFileSync(join(outside, "secret"), "utf8")).toBe("secret");
    expect(readdirSync(outside)).toEqual(["secret"]);
  });

  test("a FIFO and names that are no UTF-8 are listed, and hold nobody up", async () => {
    await volumes().create("v", LIMIT);
    await runCommand(["mkfifo", join(disk("v"), "fifo")]);
    await runCommand(["sh", "-c", `touch "${disk("v")}/$(printf 'bad\\377')"`]);
    await put("v", "grüße ☃", "x");
    const { content } = volumes();
    expect((await content.list("v", "/", { depth: 1 })).map(({ name, type }) => [name, type])).toEqual([
      ["bad\ufffd", "file"],
      ["fifo", "unknown"],
      ["grüße ☃", "file"],
    ]);
    expect(await failure(content.read("v", "fifo", { signal: never }))).toBe("failed_precondition not_a_file");
    expect(await text("v", "grüße ☃")).toBe("x");
    expect(existsSync(disk("v"))).toBe(true);
  });
});
