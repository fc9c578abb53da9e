import { readFileSync, statfsSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { logLineAsText } from "@boxyard/core/log-text";
import { serverLogPath } from "./server-file.ts";

const LOG_LINES = 10;
/** The server's program begins the line with the reason of its end with this. */
const OWN_WORDS = "boxyard serve: ";
/** Where in the code an error of the log arose: it helps who reads the whole log, and tells the caller of a command nothing. */
const STACK_LINE = /^\s+at /;
/** With less than this the disk is full: a line or two may still find room in the log's last block. */
const FULL_BELOW = 2 ** 20;

/**
 * Why a server did not start. Its own line about its end is the reason; without one, the last lines of its log are shown. A full disk may cut the line
 * off: then that is said. `how`: what was seen of it. `before`: where the log of this start begins. `freeBytes`: of the disk of the data directory.
 */
export function startFailure(dataDir: string, how: string, before: number, freeBytes = freeBytesOf(dataDir)): AppError {
  const path = serverLogPath(dataDir);
  const text = textFrom(path, before);
  const lines = text.split("\n").filter((line) => line !== "" && !STACK_LINE.test(line));
  const words = lines.findLast((line) => line.startsWith(OWN_WORDS))?.slice(OWN_WORDS.length);
  const tail = lines.slice(-LOG_LINES).map((line) => `  ${logLineAsText(line)}`);
  const shown = tail.length > 0 ? `. The end of its log, ${path}:\n${tail.join("\n")}` : "";
  const isCut = freeBytes < FULL_BELOW && (words === undefined || !text.endsWith("\n"));
  const full = isCut
    ? `${text === "" ? ". " : "\n"}There is no room left on the disk of ${dataDir}, which cuts the log off: make some`
    : "";
  return new AppError("unavailable", `the server ${how}${words === undefined ? shown : `: ${words}`}${full}`, {
    reason: "server_start",
    details: { hint: `Its log is ${path}. \`boxyard doctor\` says what this machine lacks.` },
  });
}

function textFrom(path: string, offset: number): string {
  try {
    return readFileSync(path).subarray(offset).toString();
  } catch {
    return "";
  }
}

function freeBytesOf(dataDir: string): number {
  try {
    const { bavail, bsize } = statfsSync(dataDir);
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
