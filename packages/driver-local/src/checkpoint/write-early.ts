import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { ChildProgram, type ForkServer } from "../sys/fork-server/index.ts";
import { AT_FDCWD, O } from "../sys/libc.ts";

const LOOK_MS = 20;
/** Less than this is left to the flush at the end. */
const STEP_BYTES = 16 << 20;
/** Flag of sync_file_range(2): begins to write, does not wait, and takes no lock that CRIU's own writes need. */
const SYNC_FILE_RANGE_WRITE = 2;

/**
 * Makes the kernel write CRIU's images to the disk while CRIU still produces them. By itself the kernel begins when a tenth of the machine's memory is
 * dirty, so all would be left to the flush at the end. Resolves when `until` has settled. Never fails: the flush reports errors of the disk.
 */
export async function writeEarly(images: string, forkServer: ForkServer, until: Promise<unknown>): Promise<void> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  const settled = until.then(over, over);
  const begun = new Map<string, number>();
  while (!isOver) {
    await Promise.race([Bun.sleep(LOOK_MS), settled]);
    for (const [path, size] of pagesIn(images)) {
      if (isOver || size - (begun.get(path) ?? 0) < STEP_BYTES) continue;
      begun.set(path, size);
      // In a child process: the kernel blocks the caller when the disk is busy.
      await forkServer.run(writing(path)).catch(over);
    }
  }
}

function writing(path: string): ChildProgram {
  const program = new ChildProgram();
  const fd = program.call("openat", [AT_FDCWD, path, O.RDONLY | O.CLOEXEC, 0], path);
  program.call("sync_file_range", [fd, 0, 0, SYNC_FILE_RANGE_WRITE], path);
  program.call("exit", [0]);
  return program;
}

/** Images of memory, each with its size; none when the directory cannot be read. */
function pagesIn(images: string): [string, number][] {
  try {
    const names = readdirSync(images).filter((name) => /^pages-\d+\.img$/.test(name));
    return names.map((name) => [join(images, name), statSync(join(images, name)).size]);
  } catch {
    // The directory does not exist yet, or has a fault that CRIU and the flush report too: it must not end a pause while CRIU still works.
    return [];
  }
}
