import { ioctl, withDirectory } from "./libc.ts";

/** A range of the file system's disk that btrfs uses for data or for its own trees. */
export interface Chunk {
  /** Where it begins on the disk, bytes. */
  readonly start: number;
  readonly bytes: number;
  readonly isData: boolean;
}

const TREE_SEARCH = 0xd0009411;
const CHUNK_TREE = 3n;
const FIRST_CHUNK_TREE = 256n;
const CHUNK_ITEM = 228;
const TYPE_DATA = 1n;
const LAST = 0xffff_ffff_ffff_ffffn;

/** struct btrfs_ioctl_search_args: its key, then the results of the kernel (a header and an item for each). */
const ARGS = {
  bytes: 4096,
  tree: 0,
  from: 8,
  minOffset: 24,
  maxOffset: 32,
  maxTransaction: 48,
  minType: 56,
  count: 64,
  results: 104,
} as const;
const HEADER = { bytes: 32, offset: 16, length: 28 } as const;
/** struct btrfs_chunk with its copies; our pools have one copy. */
const ITEM = { bytes: 0, type: 24, copies: 44, firstCopy: 48, copyBytes: 32, copyStart: 8 } as const;

/** All chunks of the btrfs at `root`, in the order of their offsets on its only disk. Failures are `KernelError`s. */
export function chunksOf(root: string): Chunk[] {
  const chunks: Chunk[] = [];
  withDirectory(root, (fd) => {
    for (let next: bigint | undefined = 0n; next !== undefined; ) next = readPage(fd, next, chunks);
  });
  return chunks.sort((one, other) => one.start - other.start);
}

/** Adds the chunks of one call, from a logical address on. Returns the address for the next call; undefined when there are no more chunks. */
function readPage(fd: number, from: bigint, chunks: Chunk[]): bigint | undefined {
  const args = new DataView(new ArrayBuffer(ARGS.bytes));
  args.setBigUint64(ARGS.tree, CHUNK_TREE, true);
  for (const end of [0, 8]) args.setBigUint64(ARGS.from + end, FIRST_CHUNK_TREE, true);
  args.setBigUint64(ARGS.minOffset, from, true);
  args.setBigUint64(ARGS.maxOffset, LAST, true);
  args.setBigUint64(ARGS.maxTransaction, LAST, true);
  for (const end of [0, 4]) args.setUint32(ARGS.minType + end, CHUNK_ITEM, true);
  args.setUint32(ARGS.count, ARGS.bytes, true);
  ioctl(fd, TREE_SEARCH, new Uint8Array(args.buffer), "chunks of the pool");
  let at: number = ARGS.results;
  let last: bigint | undefined;
  for (let left = args.getUint32(ARGS.count, true); left > 0; left--) {
    last = args.getBigUint64(at + HEADER.offset, true);
    const item = at + HEADER.bytes;
    addCopies(args, item, chunks);
    at = item + args.getUint32(at + HEADER.length, true);
  }
  return last === undefined ? undefined : last + 1n;
}

function addCopies(view: DataView, item: number, chunks: Chunk[]): void {
  const bytes = Number(view.getBigUint64(item + ITEM.bytes, true));
  const isData = (view.getBigUint64(item + ITEM.type, true) & TYPE_DATA) !== 0n;
  for (let copy = 0; copy < view.getUint16(item + ITEM.copies, true); copy++) {
    const start = Number(view.getBigUint64(item + ITEM.firstCopy + copy * ITEM.copyBytes + ITEM.copyStart, true));
    chunks.push({ start, bytes, isData });
  }
}
