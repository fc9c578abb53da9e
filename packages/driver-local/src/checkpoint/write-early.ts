import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { ChildProgram, type ForkServer } from "../sys/fork-server/index.ts";
import { AT_FDCWD, O } from "../sys/libc.ts";

const LOOK_MS = 20;
/** Less than this is written soon enough by the flush at the end. */
const STEP_BYTES = 16 << 20;
/** Of sync_file_range(2): starts to write, waits for nothing and takes no lock that CRIU's own writing waits for. */
const SYNC_FILE_RANGE_WRITE = 2;

/**
 * Has the kernel bring CRIU's images to the disk while CRIU still writes them: by itself it begins when a tenth of the machine's memory is
 * to be written, so all of it would be left to the flush at the end. Resolves when `until` has settled; what fails here, the flush reports.
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
      // As a child's: the kernel makes the caller wait when the disk has much to do.
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

/** Files of memory, each with its size; none where that cannot be told. */
function pagesIn(images: string): [string, number][] {
  try {
    const names = readdirSync(images).filter((name) => /^pages-\d+\.img$/.test(name));
    return names.map((name) => [join(images, name), statSync(join(images, name)).size]);
  } catch {
    // Not there yet, or a fault that CRIU and the flush meet as well. It must not end a pause while CRIU still works.
    return [];
  }
}
