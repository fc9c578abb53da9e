import { closeSync, existsSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import type { SandboxCgroup } from "../cgroup/sandbox-cgroup.ts";
import { memoryOf, readMemoryAccount } from "../cgroup/stats.ts";
import { memoryBytesOf } from "../criu/image-files.ts";
import { fieldsIn, messagesIn, numberIn } from "../criu/image-messages.ts";
import { MAX_MAP_BYTES, type Pages, readPages } from "../criu/page-images.ts";

/*
 * Processes share the memory that they had at a fork until one of them writes to it. CRIU writes such memory once for each process, and at a restore
 * shares it again only between a process and its parent. Processes whose parent has ended get copies, which may need more than the sandbox has.
 */

const PAGE_BYTES = 4_096;
const PROCESS = { pid: 1, parent: 2 } as const;
/** Pages that are compared in all, to find how many of a process are the same as its parent's; and the least for one process. */
const SAMPLES = 4_096;
const LEAST_SAMPLES = 8;

const mib = (bytes: number) => `${Math.ceil(bytes / 2 ** 20)} MiB`;

/** Throws `failed_precondition`, reason `memory_not_shared`, when a restore would need more memory than the sandbox may have. */
export function checkFitsAgain(images: string, cgroup: SandboxCgroup, limitBytes: number): void {
  const { usageBytes, stat, isV1 } = readMemoryAccount(cgroup);
  const anonymous = Number(new RegExp(`^${isV1 ? "total_rss" : "anon"} (\\d+)$`, "m").exec(stat)?.[1] ?? 0);
  const others = Math.max(0, memoryOf(usageBytes, stat, isV1).memoryUsedBytes - anonymous);
  // Nearly every image: what is in its files fits, even if none of it is shared.
  if (others + memoryBytesOf(images) <= limitBytes) return;
  const needed = others + privateBytesOf(images);
  if (needed <= limitBytes) return;
  const message = `processes in the sandbox share memory with others whose parent has ended, and would not share it after a resume: they would need ${mib(needed)} of the ${mib(limitBytes)} that the sandbox has; end some of them first`;
  throw new AppError("failed_precondition", message, { reason: "memory_not_shared" });
}

/** Bytes of private memory that a restore of the images takes; what a process shares with its living parent counts once. */
function privateBytesOf(images: string): number {
  const processes = processesIn(images);
  const overlaps = processes.flatMap(({ pages, parent }) => {
    const of = processes.find(({ pid }) => pid === parent)?.pages;
    return pages && of ? [{ pages, of, common: commonOf(pages, of) }] : [];
  });
  const all = overlaps.reduce((sum, { common }) => sum + common.count, 0);
  const shared = overlaps.reduce((sum, { pages, of, common }) => {
    const samples = Math.max(LEAST_SAMPLES, Math.round((SAMPLES * common.count) / Math.max(1, all)));
    return sum + common.count * sameShare(images, pages, of, common, samples);
  }, 0);
  const total = processes.reduce((sum, { pages }) => sum + (pages?.count ?? 0), 0);
  return Math.round(total - shared) * PAGE_BYTES;
}

interface ProcessPages {
  readonly pid: bigint;
  readonly parent: bigint;
  /** Undefined where the map is too long to be read. */
  readonly pages: Pages | undefined;
}

function processesIn(images: string): ProcessPages[] {
  return messagesIn(readFileSync(join(images, "pstree.img"))).map((message) => {
    const fields = fieldsIn(message);
    const pid = numberIn(fields, PROCESS.pid);
    const path = join(images, `pagemap-${pid}.img`);
    const isRead = existsSync(path) && statSync(path).size <= MAX_MAP_BYTES;
    return { pid, parent: numberIn(fields, PROCESS.parent), pages: isRead ? readPages(readFileSync(path), path) : undefined };
  });
}

/** Runs of pages that two processes have at the same addresses: where each begins in the one's file and in the other's, in pages. */
interface Common {
  readonly runs: readonly { readonly at: number; readonly otherAt: number; readonly count: number }[];
  readonly count: number;
}

/** Both maps are in the order of their addresses. */
function commonOf(pages: Pages, other: Pages): Common {
  const runs: { at: number; otherAt: number; count: number }[] = [];
  let count = 0;
  for (let i = 0, j = 0; i < pages.runs.length && j < other.runs.length; ) {
    const [a, b] = [pages.runs[i] as Pages["runs"][number], other.runs[j] as Pages["runs"][number]];
    const [aEnd, bEnd] = [a.address + a.count * PAGE_BYTES, b.address + b.count * PAGE_BYTES];
    const start = Math.max(a.address, b.address);
    const length = (Math.min(aEnd, bEnd) - start) / PAGE_BYTES;
    if (length > 0) {
      runs.push({ at: a.at + (start - a.address) / PAGE_BYTES, otherAt: b.at + (start - b.address) / PAGE_BYTES, count: length });
      count += length;
    }
    if (aEnd <= bEnd) i++;
    else j++;
  }
  return { runs, count };
}

/** Which part of the common pages is the same, from 0 to 1, by pages at even distances. */
function sameShare(images: string, pages: Pages, other: Pages, { runs, count }: Common, samples: number): number {
  if (count === 0) return 0;
  const files = [pages, other].map(({ pagesId }) => openSync(join(images, `pages-${pagesId}.img`), "r")) as [number, number];
  const [mine, theirs] = [Buffer.alloc(PAGE_BYTES), Buffer.alloc(PAGE_BYTES)];
  const step = Math.max(1, count / samples);
  let [next, before, same, looked] = [step / 2, 0, 0, 0];
  try {
    for (const run of runs) {
      for (; next < before + run.count; next += step, looked++) {
        const offset = Math.floor(next - before);
        readSync(files[0], mine, 0, PAGE_BYTES, (run.at + offset) * PAGE_BYTES);
        readSync(files[1], theirs, 0, PAGE_BYTES, (run.otherAt + offset) * PAGE_BYTES);
        if (mine.equals(theirs)) same++;
      }
      before += run.count;
    }
  } finally {
    for (const fd of files) closeSync(fd);
  }
  return looked === 0 ? 0 : same / looked;
}
