import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@boxyard/testkit";
import { buildHelper } from "../../testing/build-helper.ts";

const PAGE = 4096;
const canRun = process.getuid?.() === 0 && process.arch === "x64" && existsSync("/dev/userfaultfd") && Bun.which("python3") !== null;

/** Maps memory, tells where, divides the mapping when it is told to, and counts the pages with wrong numbers. */
const HOLDER = `
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
pages = int(sys.argv[1])
at = libc.mmap(None, pages * ${PAGE}, 3, 0x22, -1, 0)
print(at, flush=True)
while not os.path.exists(sys.argv[2]): time.sleep(0.001)
for page in range(pages - 30, pages // 2, -37): libc.mprotect(at + page * ${PAGE}, ${PAGE}, 1)
print(sum(ctypes.c_uint64.from_address(at + page * ${PAGE}).value != page + 1 for page in range(pages)), flush=True)
`;

describe.skipIf(!canRun)("lazy-memory", () => {
  setDefaultTimeout(120_000);
  let work: string;
  let holder: Bun.Subprocess<"ignore", Bun.BunFile, "inherit"> | undefined;
  afterEach(async () => {
    holder?.kill("SIGKILL");
    await holder?.exited;
    await eventually("what brings memory has ended", () => Bun.spawnSync(["pgrep", "-f", `lazy-memory ${work}`]).exitCode === 1);
    rmSync(work, { recursive: true });
  });

  /** Begins to bring the holder's memory, whose pages have their numbers in them, in the pieces that `pieces` says, in pages. */
  async function begin(pages: number, pieces: readonly (readonly [first: number, count: number])[]) {
    work = mkdtempSync(join(tmpdir(), "boxyard-lazy-memory-"));
    const file = (name: string) => join(work, name);
    const bytes = Buffer.alloc(pages * PAGE);
    for (let page = 0; page < pages; page++) bytes.writeUInt32LE(page + 1, page * PAGE);
    writeFileSync(file("pages"), bytes);
    writeFileSync(file("kill"), "");
    const started = Bun.spawn(["python3", "-c", HOLDER, String(pages), file("go")], {
      stdin: "ignore",
      stdout: Bun.file(file("said")),
      stderr: "inherit",
    });
    holder = started;
    const line = async (number: number) => {
      const said = () => readFileSync(file("said"), "utf8").split("\n");
      await eventually("it has said it", () => said().length > number + 1, { withinMs: 60_000 });
      return said()[number];
    };
    const address = Number(await line(0));
    const missing = pieces.map(([first, count]) => `missing ${address + first * PAGE} ${count * PAGE} ${first * PAGE}\n`);
    const head = `lazy 1\nlost ${file("lost")}\nkill ${file("kill")}\nprocess ${started.pid} ${file("pages")}\n`;
    writeFileSync(file("plan"), `${head}watched ${address} ${pages * PAGE}\n${missing.join("")}`);
    // What goes on in the background would hold pipes open.
    const { exitCode } = Bun.spawnSync([buildHelper("fork-server"), "lazy-memory", file("plan")], {
      stdio: ["ignore", "ignore", "ignore"],
    });
    expect(exitCode).toBe(0);
    writeFileSync(file("go"), "");
    return { line, file };
  }

  test("brings all of a mapping that is divided meanwhile", async () => {
    const { line, file } = await begin(49_152, [[0, 49_152]]);
    expect(await line(1)).toBe("0");
    expect(existsSync(file("lost"))).toBe(false);
  });
});
