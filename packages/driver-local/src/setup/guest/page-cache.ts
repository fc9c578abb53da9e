import { chmodSync, closeSync, openSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { trySyscall } from "../../sys/libc.ts";

/*
 * How the agent's program lies in the page cache. Each sandbox maps it anew, and the kernel maps what lies in one piece of memory at once: a start
 * takes 7.8 ms of CPU where the pieces are large and 9.9 where each page was read by itself (28 November 2026, busy machine). A file has the pieces
 * in which it was written, or first read.
 */

const READ_BYTES = 8 << 20;
const PAGE_BYTES = 4096;
/** Share of a file in the cache up to which the file counts as not read since the machine's start. */
const COLD_SHARE = 0.1;

/** Replaces a file by an equal one that was written in one call, and so is in the cache in large pieces. */
export function rewriteWhole(path: string): void {
  const aside = `${path}.new`;
  writeFileSync(aside, readFileSync(path));
  chmodSync(aside, statSync(path).mode);
  renameSync(aside, path);
}

/**
 * Reads a file from its beginning to its end, unless it is in the cache already: a program that starts while it is not reads single pages. Does nothing
 * where the kernel cannot tell what is in the cache (before Linux 6.5).
 */
export async function readWhole(path: string): Promise<void> {
  if (!isCold(path)) return;
  const file = await open(path, "r");
  try {
    const buffer = new Uint8Array(READ_BYTES);
    while ((await file.read(buffer)).bytesRead > 0);
  } finally {
    await file.close();
  }
}

function isCold(path: string): boolean {
  const fd = openSync(path, "r");
  try {
    // struct cachestat_range (0, 0: the whole file) and struct cachestat, whose first member is the number of pages in the cache.
    const cached = new BigUint64Array(5);
    if (trySyscall("cachestat", fd, new BigUint64Array(2), cached, 0) < 0) return false;
    return Number(cached[0]) * PAGE_BYTES < statSync(path).size * COLD_SHARE;
  } finally {
    closeSync(fd);
  }
}
