import type { Chunk } from "../sys/btrfs-chunks.ts";

/** A range of bytes of the pool's file. */
export interface Piece {
  readonly start: number;
  readonly bytes: number;
}

export interface Layout {
  readonly chunks: readonly Chunk[];
  /** Size of the pool's file, bytes. */
  readonly sizeBytes: number;
}

/** btrfs makes no chunk before this offset. */
const FIRST_BYTE = 2 ** 20;

/**
 * Pieces that must have their blocks on the disk below, so that accepted writes always reach it: the chunks of btrfs's own trees, the chunks of
 * data (`withData`), and the places of its next chunks (the first gaps, `aheadBytes` of them). In ascending order; adjacent pieces are merged.
 */
export function piecesToAllocate({ chunks, sizeBytes }: Layout, aheadBytes: number, withData: boolean): Piece[] {
  const pieces: Piece[] = [];
  let [at, left]: [number, number] = [FIRST_BYTE, aheadBytes];
  const addGapBefore = (end: number) => {
    const bytes = Math.min(end - at, left);
    if (bytes > 0) add(pieces, { start: at, bytes });
    left -= Math.max(0, bytes);
  };
  for (const chunk of chunks) {
    addGapBefore(chunk.start);
    if (withData || !chunk.isData) add(pieces, chunk);
    at = Math.max(at, chunk.start + chunk.bytes);
  }
  addGapBefore(sizeBytes);
  return pieces;
}

function add(pieces: Piece[], { start, bytes }: Piece): void {
  const last = pieces.at(-1);
  if (last && last.start + last.bytes === start) pieces[pieces.length - 1] = { start: last.start, bytes: last.bytes + bytes };
  else pieces.push({ start, bytes });
}
