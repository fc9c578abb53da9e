import type { FileHandle } from "node:fs/promises";
import { crc32 } from "node:zlib";

/*
 * The file of a recording: a first line, then frames that are only ever appended. A frame has a head of 12 bytes (its kind, three zeros, the length of its
 * content, a checksum of all of it) and its content. A process that is killed while it writes leaves a part of a frame at the end, which the next one cuts off.
 */

export const FIRST_LINE = Buffer.from("boxyard recording 1\n");
export const FRAME_HEAD_BYTES = 12;
/** Longest content of a frame; a longer one is damage. */
export const MAX_FRAME_BYTES = 1 << 20;

/** `data`: a piece of a body. `exchange`: a request and its answer, with the places of their bodies; JSON. `stopped`: something is missing from here on; JSON. */
export const FRAME = { data: 1, exchange: 2, stopped: 3 } as const;
export type FrameKind = (typeof FRAME)[keyof typeof FRAME];

export interface FramePlace {
  readonly kind: FrameKind;
  /** Where its head begins. */
  readonly at: number;
  /** Bytes of its content. */
  readonly length: number;
}

const KINDS: ReadonlySet<number> = new Set(Object.values(FRAME));

export function frameOf(kind: FrameKind, content: Uint8Array): Buffer {
  const frame = Buffer.alloc(FRAME_HEAD_BYTES + content.byteLength);
  frame[0] = kind;
  frame.writeUInt32LE(content.byteLength, 4);
  frame.set(content, FRAME_HEAD_BYTES);
  frame.writeUInt32LE(checksum(frame, content), 8);
  return frame;
}

const checksum = (head: Uint8Array, content: Uint8Array): number => crc32(content, crc32(head.subarray(0, 8)));

/** The content of a frame; undefined where it is not as it was written. */
export async function readFrame(file: FileHandle, { kind, at, length }: FramePlace): Promise<Buffer | undefined> {
  if (length > MAX_FRAME_BYTES) return undefined;
  const frame = await readAt(file, at, FRAME_HEAD_BYTES + length);
  if (!frame || frame[0] !== kind || frame.readUInt32LE(4) !== length) return undefined;
  const content = frame.subarray(FRAME_HEAD_BYTES);
  return frame.readUInt32LE(8) === checksum(frame, content) ? content : undefined;
}

/**
 * The frames that are whole, in their order, up to the first that is not. Of `data` only the head is read; its checksum is looked at when the body is. `from`:
 * where a frame begins.
 */
export async function* framesOf(file: FileHandle, from: number = FIRST_LINE.byteLength): AsyncGenerator<FramePlace> {
  const { size } = await file.stat();
  let at = from;
  while (at + FRAME_HEAD_BYTES <= size) {
    const head = await readAt(file, at, FRAME_HEAD_BYTES);
    const kind = head?.[0] ?? 0;
    const length = head?.readUInt32LE(4) ?? 0;
    const isPadded = head?.[1] === 0 && head[2] === 0 && head[3] === 0;
    if (!KINDS.has(kind) || !isPadded || length > MAX_FRAME_BYTES || at + FRAME_HEAD_BYTES + length > size) return;
    yield { kind: kind as FrameKind, at, length };
    at += FRAME_HEAD_BYTES + length;
  }
}

/** Whether a file begins as recordings do. */
export async function isRecording(file: FileHandle): Promise<boolean> {
  return (await readAt(file, 0, FIRST_LINE.byteLength))?.equals(FIRST_LINE) ?? false;
}

async function readAt(file: FileHandle, at: number, length: number): Promise<Buffer | undefined> {
  const bytes = Buffer.allocUnsafe(length);
  let read = 0;
  while (read < length) {
    const { bytesRead } = await file.read(bytes, read, length - read, at + read);
    if (bytesRead === 0) return undefined;
    read += bytesRead;
  }
  return bytes;
}
