import { fstatSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";

const MAX_LINE = 4096;

/**
 * The key that `/init` asks for: one line `{"initKey":"<hex>"}` that the driver has put into the pipe on descriptor 0 before the start.
 * Exactly that line is read, for both ends of the pipe stay open. Undefined where descriptor 0 is no pipe or holds something else.
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
 * The key of this sandbox where its memory is a copy of another one's, whose key the agent still knows: a file of the driver's that the
 * sandbox's root alone can read and nobody inside can write. Undefined where there is none.
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
