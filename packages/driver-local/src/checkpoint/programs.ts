import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { bytesIn, fieldsIn, firstFieldsIn, messagesIn, numberIn } from "../criu/image-messages.ts";

/** Fields of `mm_entry`, `core_entry` and `task_core_entry`. */
const PROGRAM = 12;
const TASK = 3;
const NAME = 6;
/** Enough for the program and the eleven numbers before it. The pieces of memory that follow are not read: a process may have many. */
const START_BYTES = 256;

/**
 * Throws `failed_precondition`, reason `program_in_memory`, when a process runs a program that is in memory alone (memfd): CRIU dumps such a process
 * but cannot restore it. `inMemory`: the numbers of such files.
 */
export function checkPrograms(images: string, inMemory: ReadonlySet<bigint>): void {
  if (inMemory.size === 0) return;
  for (const file of readdirSync(images)) {
    const pid = /^mm-(\d+)\.img$/.exec(file)?.[1];
    if (pid === undefined || !inMemory.has(programOf(join(images, file)))) continue;
    const task = bytesIn(firstOf(images, `core-${pid}.img`), TASK);
    const name = (task && bytesIn(fieldsIn(task), NAME)?.toString()) ?? "?";
    const message = `process ${pid} in the sandbox (${name}) runs a program that is in memory alone (memfd), which cannot be started again; end it first, or run it from a file`;
    throw new AppError("failed_precondition", message, { reason: "program_in_memory" });
  }
}

const firstOf = (images: string, file: string) => fieldsIn(messagesIn(readFileSync(join(images, file)))[0] ?? Buffer.alloc(0));

function programOf(path: string): bigint {
  const fd = openSync(path, "r");
  try {
    const start = Buffer.alloc(START_BYTES);
    const fields = firstFieldsIn(start.subarray(0, readSync(fd, start, 0, START_BYTES, 0)), PROGRAM);
    return numberIn(fields, PROGRAM);
  } finally {
    closeSync(fd);
  }
}
