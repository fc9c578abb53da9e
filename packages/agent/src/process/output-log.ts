import { LIMITS } from "../limits.ts";
import { ALONE, type OutputBounds } from "./output-shares.ts";

export type OutputKind = "stdout" | "stderr" | "pty";

/** Memory of a block without its bytes. Counted so that output which alternates between two kinds byte by byte is bounded too. */
const BLOCK_OVERHEAD = 160;
const SMALLEST_BLOCK = 64;

/** Consecutive bytes of one kind. The last block of a log still grows. */
interface Block {
  readonly kind: OutputKind;
  /** Offset of its first byte in the process's output. */
  readonly start: number;
  /** Memory of all earlier blocks, dropped ones included. */
  readonly costBefore: number;
  bytes: Uint8Array;
  length: number;
}

/** A piece of output for a reader: at most one data event. Later output does not change its bytes. */
export interface OutputPiece {
  readonly kind: OutputKind;
  readonly bytes: Uint8Array;
}

/** A log in the form that takes least memory. It cannot be read or appended to. */
export interface PackedLog {
  readonly start: number;
  readonly end: number;
  /** In order, without gaps, one character per byte: for few bytes a string takes a quarter of the memory of an array. */
  readonly pieces: readonly { readonly kind: OutputKind; readonly text: string }[];
}

/** Memory of a packed log in bytes, counted as `heldBytes` of a log. */
export const packedBytes = ({ pieces }: PackedLog): number => pieces.reduce((sum, { text }) => sum + text.length + BLOCK_OVERHEAD, 0);

/**
 * The last output of a process: the bytes of all its streams in the order in which they were read, addressed by one offset that starts at 0. Takes up
 * to `logBytes` of memory, more only for bytes that a reader still needs; the oldest blocks are dropped first.
 */
export class OutputLog {
  private blocks: Block[] = [];
  /** Index of the first block; those before it were dropped, and leave the array later, many at once. */
  private head = 0;
  private readonly bounds: Pick<OutputBounds, "logBytes">;
  private spent = 0;
  private dropped = 0;
  /** Offset behind the last byte. */
  end = 0;

  constructor(bounds: Pick<OutputBounds, "logBytes"> = ALONE) {
    this.bounds = bounds;
  }

  /** Offset of the first byte in the log. */
  get start(): number {
    return this.blocks[this.head]?.start ?? this.end;
  }

  /** Memory of the log in bytes. */
  get heldBytes(): number {
    return this.spent - this.dropped;
  }

  /** Appends `bytes`. Drops the oldest output beyond the capacity, but nothing from offset `keepFrom` on, which a reader still needs. */
  append(kind: OutputKind, bytes: Uint8Array, keepFrom: number = Number.POSITIVE_INFINITY): void {
    const maxBlock = kind === "pty" ? LIMITS.ptyChunkBytes : LIMITS.pipeChunkBytes;
    let rest = bytes;
    while (rest.length > 0) {
      const block = this.growable(kind, maxBlock) ?? this.newBlock(kind, Math.min(rest.length, maxBlock));
      const part = rest.subarray(0, maxBlock - block.length);
      this.extend(block, part, maxBlock);
      rest = rest.subarray(part.length);
    }
    this.trim(keepFrom);
  }

  /** Drops output beyond the capacity and before `keepFrom`. */
  trim(keepFrom: number = Number.POSITIVE_INFINITY): void {
    for (let next = this.blocks[this.head + 1]; next && this.heldBytes > this.bounds.logBytes; next = this.blocks[this.head + 1]) {
      if (next.start > keepFrom) return;
      this.dropFirst();
    }
  }

  /** The output from `offset` to the end of its block; undefined at the end of the log. An offset before `start` counts as `start`. */
  pieceAt(offset: number): OutputPiece | undefined {
    const block = this.blockAt(offset);
    if (!block) return undefined;
    const skip = Math.max(0, offset - block.start);
    return { kind: block.kind, bytes: block.bytes.subarray(skip, block.length) };
  }

  /** Memory in bytes of the output from `offset` on, in whole blocks. */
  costFrom(offset: number): number {
    const block = this.blockAt(offset);
    return block ? this.spent - block.costBefore : 0;
  }

  /** Drops all output. Offsets go on. */
  clear(): void {
    this.blocks = [];
    this.head = 0;
    this.dropped = this.spent;
  }

  pack(): PackedLog {
    const blocks = this.blocks.slice(this.head);
    const textOf = ({ bytes, length }: Block) => Buffer.from(bytes.buffer, bytes.byteOffset, length).toString("latin1");
    return { start: this.start, end: this.end, pieces: blocks.map((block) => ({ kind: block.kind, text: textOf(block) })) };
  }

  static unpack({ start, end, pieces }: PackedLog): OutputLog {
    const log = new OutputLog();
    log.end = start;
    for (const { kind, text } of pieces) log.append(kind, Buffer.from(text, "latin1"), 0);
    log.end = end;
    return log;
  }

  private blockAt(offset: number): Block | undefined {
    if (offset >= this.end) return undefined;
    // Readers are nearly always at the last block.
    const last = this.blocks.at(-1);
    if (last && offset >= last.start) return last;
    let low = this.head;
    let high = this.blocks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.blocks[middle]?.start ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return this.blocks[low];
  }

  private growable(kind: OutputKind, maxBlock: number): Block | undefined {
    const last = this.blocks.at(-1);
    return last && last.kind === kind && last.length < maxBlock ? last : undefined;
  }

  private newBlock(kind: OutputKind, size: number): Block {
    const block = { kind, start: this.end, costBefore: this.spent, bytes: new Uint8Array(Math.max(size, SMALLEST_BLOCK)), length: 0 };
    this.spent += block.bytes.length + BLOCK_OVERHEAD;
    this.blocks.push(block);
    return block;
  }

  private extend(block: Block, part: Uint8Array, maxBlock: number): void {
    const needed = block.length + part.length;
    if (needed > block.bytes.length) {
      const larger = new Uint8Array(Math.min(maxBlock, Math.max(needed, block.bytes.length * 2)));
      larger.set(block.bytes.subarray(0, block.length));
      this.spent += larger.length - block.bytes.length;
      block.bytes = larger;
    }
    block.bytes.set(part, block.length);
    block.length = needed;
    this.end += part.length;
  }

  private dropFirst(): void {
    const block = this.blocks[this.head];
    if (block) this.dropped += block.bytes.length + BLOCK_OVERHEAD;
    this.head++;
    if (this.head > 64 && this.head * 2 > this.blocks.length) {
      this.blocks = this.blocks.slice(this.head);
      this.head = 0;
    }
  }
}
