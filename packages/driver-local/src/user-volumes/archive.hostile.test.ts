import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { failure } from "@boxyard/driver/contract-suite";
import { makeTar, type TarEntry } from "@boxyard/driver/fake";
import { runCommand } from "../sys/run.ts";
import { never } from "../testing/machine.ts";
import { useTestMachine } from "../testing/use-test-machine.ts";

const MIB = 1 << 20;
const PRINT_ATTRIBUTES = "import os, sys\nfor path in sys.argv[1:]: print(os.listxattr(path))";

/** Archives of strangers, and volumes that strangers fill before they are exported. */
describe("archives of volumes", () => {
  setDefaultTimeout(60_000);
  const machine = useTestMachine();
  const disk = (id: string) => join(machine.dataDir, "pool/volumes", id, "disk");
  afterEach(async () => {
    for (const { id } of await machine.driver.volumes.list()) await machine.driver.volumes.remove(id);
    expect(readdirSync(join(machine.dataDir, "pool/volumes"))).toEqual([]);
  });

  const make = (id: string, bytes: Uint8Array<ArrayBuffer>, limitBytes = 16 * MIB) =>
    machine.driver.volumes.create(id, { limitBytes, archive: { source: new Blob([bytes]).stream(), signal: never } });
  const unpack = (entries: readonly TarEntry[]) => failure(make("v", makeTar(entries)));
  const exported = async (id: string) =>
    new Response((await machine.driver.volumes.export(id, never)) as ReadableStream<Uint8Array<ArrayBuffer>>).bytes();

  test("no entry is made outside of the volume, and none through a link", async () => {
    const outside = join(machine.dataDir, "outside");
    mkdirSync(outside, { recursive: true });
    writeFileSync(join(outside, "secret"), "secret");
    expect(await unpack([{ path: "../../outside/new", text: "x" }])).toBe("invalid_argument bad_archive");
    expect(
      await unpack([
        { path: "out", type: "symlink", linkTo: outside },
        { path: "out/new", text: "x" },
      ]),
    ).toBe("invalid_argument bad_archive");
    expect(await unpack([{ path: "hard", type: "hardlink", linkTo: "../../../outside/secret" }])).toBe("invalid_argument bad_archive");
    expect(
      await unpack([
        { path: "up", type: "symlink", linkTo: "../../../outside/secret" },
        { path: "up", text: "replaces the link" },
      ]),
    ).toBe("resolved");
    expect([lstatSync(join(disk("v"), "up")).isFile(), readdirSync(outside)]).toEqual([true, ["secret"]]);
    expect(readFileSync(join(outside, "secret"), "utf8")).toBe("secret");
  });

  test("device nodes and file capabilities are left out, and ids that no sandbox has are refused", async () => {
    const capability = Buffer.from("0100000200200000000000000000000000000000", "hex");
    expect(
      await unpack([
        { path: "mem", type: "chardev" },
        { path: "disk", type: "blockdev" },
        { path: "tool", text: "x", pax: { "SCHILY.xattr.security.capability": capability, "SCHILY.xattr.user.note": "kept" } },
        { path: "trusted", text: "x", pax: { "SCHILY.xattr.trusted.overlay.opaque": "y" } },
        { path: ".wh.gone", text: "a name like any other" },
      ]),
    ).toBe("resolved");
    expect(readdirSync(disk("v")).sort()).toEqual([".wh.gone", "tool", "trusted"]);
    const attributes = await runCommand(["python3", "-c", PRINT_ATTRIBUTES, join(disk("v"), "tool"), join(disk("v"), "trusted")]);
    expect(attributes.trim()).toBe("['user.note']\n[]");
    await machine.driver.volumes.remove("v");
    expect(await unpack([{ path: "x", text: "x", uid: 65_536 }])).toBe("invalid_argument bad_archive");
  });

  test("more than fits, a bomb, a cut and a deep tree make no volume", async () => {
    const large = makeTar([{ path: "x", text: new Uint8Array(6 * MIB).fill(7) }]);
    expect(await failure(make("v", large, 2 * MIB))).toBe("resource_exhausted volume_full");
    expect(await failure(make("v", large.slice(0, MIB)))).toBe("invalid_argument bad_archive");
    expect(await failure(make("v", Bun.gzipSync(large), 2 * MIB))).toBe("resource_exhausted volume_full");
    expect(await unpack([{ path: "x", text: "x", pax: { path: `${"d/".repeat(300)}x` } }])).toBe("invalid_argument bad_archive");
    expect(await failure(make("v", new TextEncoder().encode("this is no tar")))).toBe("invalid_argument bad_archive");
  });

  test("an abort leaves nothing, and cancels what the client sends", async () => {
    const given = new AbortController();
    let cancelled = false;
    const source = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        controller.enqueue(makeTar([{ path: "x", text: "x" }]).slice(0, 512));
        given.abort(new Error("gone"));
        return new Promise(() => {});
      },
      cancel: () => {
        cancelled = true;
      },
    });
    const archive = { source, signal: given.signal };
    await expect(machine.driver.volumes.create("v", { limitBytes: 16 * MIB, archive }).then(() => "made", String)).resolves.toContain(
      "gone",
    );
    expect(cancelled).toBe(true);
  });

  test("an export has links as links, hard links once, and nothing of what they name outside", async () => {
    await machine.driver.volumes.create("v", { limitBytes: 16 * MIB });
    symlinkSync("/etc/passwd", join(disk("v"), "link"));
    await runCommand(["sh", "-c", 'cd "$0"; echo data > one; ln one two; mkfifo fifo; mknod zero c 1 5; ln -s loop loop', disk("v")]);
    await make("w", await exported("v"));
    expect(readdirSync(disk("w")).sort()).toEqual(["fifo", "link", "loop", "one", "two"]);
    expect(readlinkSync(join(disk("w"), "link"))).toBe("/etc/passwd");
    expect(statSync(join(disk("w"), "one")).ino).toBe(statSync(join(disk("w"), "two")).ino);
  });

  test("an export of a file with a hole of a terabyte, and of a tree without end, says that it is too large", async () => {
    await machine.driver.volumes.create("v", { limitBytes: 16 * MIB });
    await runCommand(["truncate", "-s", "1T", join(disk("v"), "hole")]);
    expect(await failure(exported("v"))).toBe("resource_exhausted archive_too_large");
    await machine.driver.volumes.content.remove("v", "hole");
    await runCommand([
      "python3",
      "-c",
      "import os, sys\nos.chdir(sys.argv[1])\nfor i in range(400): os.mkdir('d'); os.chdir('d')",
      disk("v"),
    ]);
    expect(await failure(exported("v"))).toBe("resource_exhausted archive_too_large");
    await machine.driver.volumes.content.remove("v", "d");
  });

  test("files that change while they are exported give a whole tar", async () => {
    await machine.driver.volumes.create("v", { limitBytes: 64 * MIB });
    writeFileSync(join(disk("v"), "a"), new Uint8Array(8 * MIB).fill(1));
    writeFileSync(join(disk("v"), "b"), new Uint8Array(8 * MIB).fill(2));
    const stream = await machine.driver.volumes.export("v", never);
    const reader = stream.getReader();
    const parts: Uint8Array[] = [];
    // The first file has begun.
    while (Buffer.concat(parts).length < MIB) parts.push((await reader.read()).value ?? new Uint8Array());
    await runCommand(["truncate", "-s", "0", join(disk("v"), "a")]);
    await machine.driver.volumes.content.remove("v", "b");
    for (let next = await reader.read(); !next.done; next = await reader.read()) parts.push(next.value);
    await make("w", new Uint8Array(Buffer.concat(parts)), 64 * MIB);
    expect(statSync(join(disk("w"), "a")).size).toBe(8 * MIB);
  });
});
