import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fieldsIn, messagesIn, numberIn, withMessages } from "./image-messages.ts";
import { MAX_MAP_BYTES, type Pages, readPages } from "./page-images.ts";

/*
 * Which memory of an image processes can be given while they run already: large private mappings that nothing else shares. CRIU's images say what there is:
 * `mm` the mappings of a process (criu/images/mm.proto), `pagemap` which of their pages are in a file.
 */

const PAGE_BYTES = 4_096;
/** A process with less in its file of pages gets all of it from CRIU: that takes less than the preparation. */
const LEAST_PROCESS_BYTES = 16 << 20;
const LEAST_MAPPING_BYTES = 1 << 20;
/** What CRIU restores of all such processes together is copied once more, by the server's thread, so it must be little. */
const MOST_KEPT_BYTES = 32 << 20;
const MOST_MM_BYTES = 1 << 20;
/** What one plan of `lazy-memory` has at most is 250. */
const MOST_PROCESSES = 200;
const PROCESS = { pid: 1, parent: 2 } as const;
const MAPPINGS = 14;
const MAPPING = { start: 1, end: 2, protection: 5, flags: 6, status: 7 } as const;
/** Bits of a mapping's status: memory without a file, of this process alone; the heap of brk(2) is too. Any other bit is something special. */
const STATUS = { regular: 1n, heap: 32n, privateMemory: 512n } as const;
/** MAP_PRIVATE, MAP_ANONYMOUS and MAP_NORESERVE: no mapping that grows downwards, is locked, or has huge pages. */
const PLAIN_FLAGS = 0x4022n;
/** PROT_READ and PROT_WRITE. */
const READ_WRITE = 3n;

/** A range of addresses. */
export interface Range {
  readonly start: number;
  readonly length: number;
}

/** A process whose large mappings are filled later. */
export interface LazyProcess {
  /** In the sandbox's namespace. */
  readonly pid: number;
  readonly pagesId: number;
  readonly mappings: readonly Range[];
  /** Pieces of these mappings that are in the file of pages, at `offset`. */
  readonly missing: readonly (Range & { readonly offset: number })[];
  /** Ranges of the file of pages that CRIU still needs, in order. */
  readonly kept: readonly { readonly offset: number; readonly length: number }[];
  /** The image `pagemap` without the missing pieces. */
  readonly pagemap: Buffer;
}

type Run = Pages["runs"][number];

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly pages: Pages | undefined;
}

/** Processes of the image that have such memory; none in nearly every image of a small sandbox, at the cost of reading its maps. */
export function lazyProcessesIn(images: string): LazyProcess[] {
  const processes = messagesIn(readFileSync(join(images, "pstree.img"))).map((message) => {
    const fields = fieldsIn(message);
    return { pid: Number(numberIn(fields, PROCESS.pid)), parent: Number(numberIn(fields, PROCESS.parent)) };
  });
  const all = processes.map((process): Process => ({ ...process, pages: pagesOf(images, process.pid) }));
  const found: LazyProcess[] = [];
  let leftBytes = MOST_KEPT_BYTES;
  for (const process of all) {
    const part = isLarge(images, process) && found.length < MOST_PROCESSES ? lazyPartOf(images, process, all) : undefined;
    const keptBytes = part?.kept.reduce((sum, { length }) => sum + length, 0) ?? 0;
    if (!part || keptBytes > leftBytes) continue;
    leftBytes -= keptBytes;
    found.push(part);
  }
  return found;
}

const isLarge = (images: string, { pages }: Process): boolean =>
  pages !== undefined && pages.count * PAGE_BYTES >= LEAST_PROCESS_BYTES && existsSync(join(images, `pages-${pages.pagesId}.img`));

const mapOf = (images: string, pid: number) => join(images, `pagemap-${pid}.img`);

function pagesOf(images: string, pid: number): Pages | undefined {
  const map = mapOf(images, pid);
  if (!existsSync(map)) return { pagesId: 0, count: 0, runs: [] };
  return statSync(map).size > MAX_MAP_BYTES ? undefined : readPages(readFileSync(map), map);
}

function lazyPartOf(images: string, process: Process, all: readonly Process[]): LazyProcess | undefined {
  const { pid, pages } = process;
  const relatives = all.filter((other) => other.pid === process.parent || other.parent === pid);
  if (!pages || relatives.some((other) => !other.pages)) return undefined;
  const candidates = filledMappings(mappingsIn(join(images, `mm-${pid}.img`)), pages.runs);
  // What a process shares with its parent since a fork, CRIU shares again; here it would become two copies.
  const shared = new Set(relatives.flatMap((other) => other.pages?.runs.flatMap((run) => mappingsOf(run, candidates)) ?? []));
  const mappings = candidates.filter((mapping) => !shared.has(mapping));
  const isMissing = (run: Run) => {
    const [mapping, ...others] = mappingsOf(run, mappings);
    return mapping !== undefined && others.length === 0 && overlap(mapping, run) === run.count * PAGE_BYTES;
  };
  // A piece of a map may go on into the next mapping.
  if (mappings.length === 0 || pages.runs.some((run) => !isMissing(run) && mappingsOf(run, mappings).length > 0)) return undefined;
  const missing = pages.runs
    .filter(isMissing)
    .map(({ address, at, count }) => ({ start: address, length: count * PAGE_BYTES, offset: at * PAGE_BYTES }));
  const kept = pages.runs
    .filter((run) => !isMissing(run))
    .map(({ at, count }) => ({ offset: at * PAGE_BYTES, length: count * PAGE_BYTES }));
  return {
    pid,
    pagesId: pages.pagesId,
    mappings,
    missing,
    kept,
    pagemap: withoutRuns(readFileSync(mapOf(images, pid)), new Set(missing.map(({ start }) => start))),
  };
}

/** Mappings with much memory in the file of pages, in the order of their addresses. A process may have ten thousands of both, and the server waits. */
function filledMappings(mappings: readonly Range[], runs: readonly Run[]): Range[] {
  const sorted = mappings.toSorted((a, b) => a.start - b.start);
  const bytes = new Map<Range, number>();
  for (const run of runs) {
    for (const mapping of mappingsOf(run, sorted)) bytes.set(mapping, (bytes.get(mapping) ?? 0) + overlap(mapping, run));
  }
  return sorted.filter((mapping) => (bytes.get(mapping) ?? 0) >= LEAST_MAPPING_BYTES);
}

/** Those of the mappings, which are in the order of their addresses and apart, that the run is in. */
function mappingsOf(run: Run, sorted: readonly Range[]): Range[] {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const { start, length } = sorted[middle] as Range;
    if (start + length > run.address) high = middle;
    else low = middle + 1;
  }
  const found: Range[] = [];
  for (let at = low; at < sorted.length && overlap(sorted[at] as Range, run) > 0; at++) found.push(sorted[at] as Range);
  return found;
}

const overlap = ({ start, length }: Range, { address, count }: Run): number =>
  Math.max(0, Math.min(start + length, address + count * PAGE_BYTES) - Math.max(start, address));

/** Mappings of plain memory that the process may read and write. */
function mappingsIn(path: string): Range[] {
  if (!existsSync(path) || statSync(path).size > MOST_MM_BYTES) return [];
  const [message] = messagesIn(readFileSync(path));
  return fieldsIn(message ?? Buffer.alloc(0)).flatMap(({ number, bytes }) => {
    if (number !== MAPPINGS || !bytes) return [];
    const fields = fieldsIn(bytes);
    const [status, flags, protection] = [MAPPING.status, MAPPING.flags, MAPPING.protection].map((field) => numberIn(fields, field)) as [
      bigint,
      bigint,
      bigint,
    ];
    const isPlain =
      (status & ~STATUS.heap) === (STATUS.regular | STATUS.privateMemory) && (flags & ~PLAIN_FLAGS) === 0n && protection === READ_WRITE;
    const [start, end] = [Number(numberIn(fields, MAPPING.start)), Number(numberIn(fields, MAPPING.end))];
    return isPlain ? [{ start, length: end - start }] : [];
  });
}

const ADDRESS = 1;

/** The image of a map without the entries of these addresses. The first message is its head. */
function withoutRuns(image: Buffer, addresses: ReadonlySet<number>): Buffer {
  const [head, ...entries] = messagesIn(image);
  const left = entries.filter((entry) => !addresses.has(Number(numberIn(fieldsIn(entry, ADDRESS), ADDRESS))));
  return withMessages(image, head ? [head, ...left] : []);
}
