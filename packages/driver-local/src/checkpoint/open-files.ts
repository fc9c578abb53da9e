import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bytesField, bytesIn, type Field, fieldsIn, messagesIn, numberField, numberIn, withMessages } from "./image-messages.ts";

/*
 * What processes have open, in CRIU's `files.img` (criu/images/fdinfo.proto and those of each kind of file): what CRIU writes wrongly is put
 * right, and what names the sandbox's own address follows it to another.
 */

export const OPEN_FILES = "files.img";

/** Fields of `file_entry`: the number of an open file, and what it is. */
const FILE = { id: 2, regular: 3, inetSocket: 4, timer: 12, memory: 20 } as const;
const REGULAR = { name: 6 } as const;
const TIMER = { seconds: 7, nanoseconds: 8, everySeconds: 9, everyNanoseconds: 10 } as const;
const SOCKET = { source: 11, destination: 12 } as const;
/** An IPv4 address in a socket of IPv6: two words of zeros, this one, the address; in the order of bytes that the machine has. */
const MAPPED_WORD = BigInt(0xffff0000);

/** Rewrites `files.img` in a directory of images, where there is something to put right. */
export function mendOpenFiles(images: string): void {
  const path = join(images, OPEN_FILES);
  const image = readFileSync(path);
  const mended = changed(image, (field) => mendedTimer(field) ?? mendedPath(field));
  if (mended !== undefined) writeFileSync(path, mended);
}

/** Writes a copy of `files.img` to `target` in which sockets have `to` where they had `from`; false, and no copy, when none has. */
export function moveSockets(images: string, from: string, to: string, target: string): boolean {
  const moved = changed(readFileSync(join(images, OPEN_FILES)), (field) => movedSocket(field, word(from), word(to)));
  if (moved !== undefined) writeFileSync(target, moved, { mode: 0o644 });
  return moved !== undefined;
}

/** The numbers of files that are memory alone (memfd). */
export function memoryFiles(images: string): Set<bigint> {
  const entries = messagesIn(readFileSync(join(images, OPEN_FILES))).map(fieldsIn);
  return new Set(entries.filter((fields) => bytesIn(fields, FILE.memory)).map((fields) => numberIn(fields, FILE.id)));
}

/** The image with other fields of its files; undefined when none changes. `change` gives a field as it is to be written. */
function changed(image: Buffer, change: (field: Field) => Buffer | undefined): Buffer | undefined {
  let isChanged = false;
  const messages = messagesIn(image).map((message) => {
    const parts = fieldsIn(message).map((field) => [field.raw, change(field)] as const);
    if (parts.every(([, other]) => other === undefined)) return message;
    isChanged = true;
    return Buffer.concat(parts.map(([raw, other]) => other ?? raw));
  });
  return isChanged ? withMessages(image, messages) : undefined;
}

/**
 * A timer that repeats, and that ran out while CRIU worked, has no time left until somebody reads it. CRIU sets it to that, which stops it for
 * ever: with the shortest time left it goes on.
 */
function mendedTimer({ number, bytes }: Field): Buffer | undefined {
  if (number !== FILE.timer || !bytes) return undefined;
  const fields = fieldsIn(bytes);
  const isSet = (a: number, b: number) => numberIn(fields, a) !== 0n || numberIn(fields, b) !== 0n;
  if (isSet(TIMER.seconds, TIMER.nanoseconds) || !isSet(TIMER.everySeconds, TIMER.everyNanoseconds)) return undefined;
  const parts = fields.map((field) => (field.number === TIMER.nanoseconds ? numberField(field.number, 1n) : field.raw));
  return bytesField(number, Buffer.concat(parts));
}

/** The directory of a process: CRIU writes a slash over the end of its name, and what stood behind it in its memory after that. */
function mendedPath({ number, bytes }: Field): Buffer | undefined {
  if (number !== FILE.regular || !bytes) return undefined;
  const fields = fieldsIn(bytes);
  const name = bytesIn(fields, REGULAR.name)?.toString("latin1") ?? "";
  const [, directory, rest] = /^(\/proc\/\d+)\/(.*)$/s.exec(name) ?? [];
  if (directory === undefined || rest === undefined || isOfProcess(rest)) return undefined;
  const parts = fields.map((field) => (field.number === REGULAR.name ? bytesField(field.number, Buffer.from(directory)) : field.raw));
  return bytesField(number, Buffer.concat(parts));
}

/** True for what the directory of a process has: `fd/3`. */
const isOfProcess = (path: string) => readdirSync("/proc/self").includes(path.split("/", 1)[0] as string);

function movedSocket({ number, bytes }: Field, from: bigint, to: bigint): Buffer | undefined {
  if (number !== FILE.inetSocket || !bytes) return undefined;
  const fields = fieldsIn(bytes);
  const isOwn = (field: Field, i: number) => {
    if (field.value !== from || (field.number !== SOCKET.source && field.number !== SOCKET.destination)) return false;
    // Alone, or the last of four words.
    const before = fields[i - 1];
    return before?.number !== field.number || before.value === MAPPED_WORD;
  };
  if (!fields.some(isOwn)) return undefined;
  return bytesField(number, Buffer.concat(fields.map((field, i) => (isOwn(field, i) ? numberField(field.number, to) : field.raw))));
}

/** `10.0.0.1` as the kernel has it in memory, read as a number by a machine whose lowest byte is first. */
function word(address: string): bigint {
  return BigInt(Buffer.from(address.split(".").map(Number)).readUInt32LE());
}
