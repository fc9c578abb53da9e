import { fstatSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";

const MAX_LINE = 4096;

/**
 * The key that `/init` asks for: one line `{"initKey":"<hex>"}` that the driver has put into the pipe on descriptor 0 before the start.
 * Reads exactly that line, because both ends of the pipe stay open. Undefined where descriptor 0 is not a pipe or holds something else.
 */
export function readInitKey(fd = 0): string | undefined {
  try {
    if (!fstatSync(fd).isFIFO()) return undefined;
    const line = readLine(fd);
    const { initKey } = JSON.parse(line) as { initKey?: unknown };
    return typeof initKey === "string" && initKey !== "" ? initKey : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The key of a sandbox that started from the memory of another sandbox, whose key the agent still holds. The driver writes it to a file that
 * only root of the sandbox can read and no process inside can write. Undefined where there is no such file.
 */
export function renewedInitKey(hostDir: string): string | undefined {
  try {
    return readFileSync(join(hostDir, "init-key"), "utf8").trim() || undefined;
  } catch {
    return undefined;
  }
}

function readLine(fd: number): string {
  const byte = new Uint8Array(1);
  let line = "";
  while (line.length < MAX_LINE && readSync(fd, byte, 0, 1, null) === 1) {
    const character = String.fromCharCode(byte[0] ?? 0);
    if (character === "\n") return line;
    line += character;
  }
  return line;
}
