import { closeSync, constants, fstatSync, ftruncateSync, mkdirSync, openSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { AppError } from "@boxyard/core";
import type { PlatformFacts } from "../access/sandbox-state.ts";
import { readSystemFile } from "../access/system-file.ts";

const MAX_FILE_BYTES = 8 * 1024 * 1024;

/** Writes the platform's facts to files that every user of the sandbox can read. Never throws. */
export function writeFacts(runDir: string, facts: PlatformFacts): void {
  const files = { ".E2B_SANDBOX": "true", ".E2B_SANDBOX_ID": facts.sandboxId, ".E2B_TEMPLATE_ID": facts.templateId };
  try {
    mkdirSync(runDir, { recursive: true, mode: 0o755 });
    for (const [name, text] of Object.entries(files)) {
      if (text === undefined) continue;
      const path = join(runDir, name);
      // A link or pipe that a program put there is replaced, not followed.
      rmSync(path, { force: true });
      writeFileSync(path, text, { mode: 0o444, flag: "wx" });
    }
  } catch {
    // /run of the image may not be writable; the environment has the same facts.
  }
}

/** Adds or replaces a name in the hosts file. Writes the file in place, because it may be a mount point. Throws `invalid_argument`. */
export function addHost(etcDir: string, address: string, name: string): void {
  const path = join(etcDir, "hosts");
  const lines = (readSystemFile(path, MAX_FILE_BYTES) ?? "").split("\n").filter((line) => !line.split(/\s+/).includes(name));
  while (lines.at(-1) === "") lines.pop();
  write(path, `${[...lines, `${address} ${name}`].join("\n")}\n`);
}

/** Writes a file only if it is a regular one, and never blocks: programs may have replaced it by anything. */
function write(path: string, text: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    const fd = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_NONBLOCK | constants.O_NOCTTY, 0o644);
    try {
      if (!fstatSync(fd).isFile()) throw new Error("not a regular file");
      ftruncateSync(fd);
      writeFileSync(fd, text);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    throw new AppError("invalid_argument", `${path} can't be written`, { reason: "not_writable", cause: error });
  }
}
