import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { bytesIn, fieldsIn, messagesIn, numberIn } from "./image-messages.ts";
import { memoryFiles } from "./open-files.ts";

/** Fields of `mm_entry`, `core_entry` and `task_core_entry`. */
const PROGRAM = 12;
const TASK = 3;
const NAME = 6;

/**
 * Throws `failed_precondition` when a process runs a program that is in memory alone (memfd): CRIU writes it, and brings none of it back.
 */
export function checkPrograms(images: string): void {
  const inMemory = memoryFiles(images);
  if (inMemory.size === 0) return;
  for (const file of readdirSync(images)) {
    const pid = /^mm-(\d+)\.img$/.exec(file)?.[1];
    if (pid === undefined || !inMemory.has(numberIn(firstOf(images, file), PROGRAM))) continue;
    const task = bytesIn(firstOf(images, `core-${pid}.img`), TASK);
    const name = (task && bytesIn(fieldsIn(task), NAME)?.toString()) ?? "?";
    const message = `process ${pid} in it (${name}) runs a program that is in memory alone (memfd), which cannot be started again; end it first, or run it from a file`;
    throw new AppError("failed_precondition", message, { reason: "program_in_memory" });
  }
}

const firstOf = (images: string, file: string) => fieldsIn(messagesIn(readFileSync(join(images, file)))[0] ?? Buffer.alloc(0));
