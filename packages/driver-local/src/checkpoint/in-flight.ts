import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { bytesIn, fieldsIn, numberIn } from "../criu/image-messages.ts";

/*
 * Messages that wait in Unix sockets, in CRIU's `sk-queues.img` (criu/images/sk-packet.proto): each a protobuf message, and then the bytes of the
 * message itself. A message can carry descriptors of files, among them of sockets in which such messages wait.
 */

const FILE = "sk-queues.img";
const HEAD_BYTES = 8;
const LENGTH_BYTES = 4;
const PACKET = { socket: 1, length: 2, control: 4 } as const;
const RIGHTS = 2;
/** More are not read one by one: it would block the server. */
const MOST_PACKETS = 20_000;

/** A message that carries descriptors: the number of the socket that it waits in, and those of the files. */
export interface Carrier {
  readonly socket: bigint;
  readonly files: readonly bigint[];
}

/**
 * Throws `failed_precondition`, reason `descriptors_in_flight`, when a message that waits in a socket carries a descriptor of a socket in which a
 * message with a descriptor waits: CRIU dumps such sockets, but cannot always restore them.
 */
export function checkInFlight(images: string): void {
  const path = join(images, FILE);
  if (!existsSync(path)) return;
  if (isNested(carriersIn(path))) {
    const message =
      "a program in the sandbox has sent (SCM_RIGHTS) a socket in which sent descriptors wait, and nobody has received it yet; receive or close it first";
    throw new AppError("failed_precondition", message, { reason: "descriptors_in_flight" });
  }
}

/** Whether a socket that waits in a message has such a message itself. */
export function isNested(carriers: readonly Carrier[]): boolean {
  const carrying = new Set(carriers.map(({ socket }) => socket));
  return carriers.some(({ files }) => files.some((file) => carrying.has(file)));
}

/** The messages with descriptors. Only the descriptions are read, not what the messages say. */
export function carriersIn(path: string): Carrier[] {
  const fd = openSync(path, "r");
  try {
    const { size } = fstatSync(fd);
    const carriers: Carrier[] = [];
    let packets = 0;
    for (let at = HEAD_BYTES; at < size; ) {
      if (++packets > MOST_PACKETS) throw tooMany();
      const length = bytesAt(fd, at, LENGTH_BYTES).readUInt32LE();
      const fields = fieldsIn(bytesAt(fd, at + LENGTH_BYTES, length));
      const files = fields.filter(({ number }) => number === PACKET.control).flatMap(({ bytes }) => rightsIn(bytes));
      if (files.length > 0) carriers.push({ socket: numberIn(fields, PACKET.socket), files });
      at += LENGTH_BYTES + length + Number(numberIn(fields, PACKET.length));
    }
    return carriers;
  } finally {
    closeSync(fd);
  }
}

function bytesAt(fd: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(Math.min(length, 2 ** 16));
  if (readSync(fd, bytes, 0, bytes.length, at) !== length) {
    throw new AppError("internal", `CRIU has not written all of ${FILE}, but reported success`, { reason: "checkpoint_failed" });
  }
  return bytes;
}

/** Numbers of files, each in a field of its own, or all in one. */
function rightsIn(control: Buffer | undefined): bigint[] {
  if (!control) return [];
  const fields = fieldsIn(control);
  const packed = bytesIn(fields, RIGHTS);
  const alone = fields.flatMap(({ number, value }) => (number === RIGHTS && value !== undefined ? [value] : []));
  return packed ? [...alone, ...numbersOf(packed)] : alone;
}

function numbersOf(packed: Buffer): bigint[] {
  const numbers: bigint[] = [];
  let [value, shift] = [0n, 0n];
  for (const byte of packed) {
    value |= BigInt(byte & 127) << shift;
    shift += 7n;
    if (byte >= 128) continue;
    numbers.push(value);
    [value, shift] = [0n, 0n];
  }
  return numbers;
}

const tooMany = () =>
  new AppError("failed_precondition", `More than ${MOST_PACKETS} messages wait in Unix sockets of the sandbox`, {
    reason: "too_many_messages",
  });
