import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { bytesField, bytesIn, type Field, fieldsIn, messagesIn, numberField, numberIn, withMessages } from "./image-messages.ts";

/*
 * What processes have open, in CRIU's `files.img` (criu/images/fdinfo.proto and those of each kind of file): what CRIU writes wrongly is put
 * right, and what names the sandbox's own address follows it to another.
 */

export const OPEN_FILES = "files.img";
/** Some sixty thousand files: the server reads all of them at once, a third of a second at most, and serves nobody else meanwhile. */
const MAX_BYTES = 2 ** 21;

/** Fields of `file_entry`: the number of an open file, and what it is. */
const FILE = { id: 2, regular: 3, inetSocket: 4, timer: 12, memory: 20 } as const;
const REGULAR = { name: 6 } as const;
const TIMER = { ticks: 5, seconds: 7, nanoseconds: 8, everySeconds: 9, everyNanoseconds: 10 } as const;
const SOCKET = { source: 11, destination: 12 } as const;
/** An IPv4 address in a socket of IPv6: two words of zeros, this one, the address; in the order of bytes that the machine has. */
const MAPPED_WORD = BigInt(0xffff0000);

/**
 * Rewrites `files.img` in a directory of images, where there is something to put right. Returns the numbers of files that are memory alone (memfd).
 * Throws `failed_precondition`, reason `too_many_files`, where there are more than the server reads at once.
 */
export function mendOpenFiles(images: string): Set<bigint> {
  const path = join(images, OPEN_FILES);
  if (statSync(path).size > MAX_BYTES) {
    throw new AppError("failed_precondition", "The sandbox's processes have too many files open", { reason: "too_many_files" });
  }
  const image = readFileSync(path);
  const ofProcess = new Set(readdirSync("/proc/self"));
  const inMemory = new Set<bigint>();
  const mended = changed(image, (field, fields) => {
    if (field.number === FILE.memory) inMemory.add(numberIn(fields, FILE.id));
    return mendedTimer(field) ?? mendedPath(field, ofProcess);
  });
  if (mended !== undefined) writeFileSync(path, mended);
  return inMemory;
}

/** Writes a copy of `files.img` to `target` in which sockets have `to` where they had `from`; false, and no copy, when none has. */
export function moveSockets(images: string, from: string, to: string, target: string): boolean {
  const moved = changed(readFileSync(join(images, OPEN_FILES)), (field) => movedSocket(field, word(from), word(to)));
  if (moved !== undefined) writeFileSync(target, moved, { mode: 0o644 });
  return moved !== undefined;
}

/** The image with other fields of its files; undefined when none changes. `change` gives a field, of those of a file, as it is to be written. */
function changed(image: Buffer, change: (field: Field, fields: readonly Field[]) => Buffer | undefined): Buffer | undefined {
  let isChanged = false;
  const messages = messagesIn(image).map((message) => {
    const fields = fieldsIn(message);
    const parts = fields.map((field) => [field.raw, change(field, fields)] as const);
    if (parts.every(([, other]) => other === undefined)) return message;
    isChanged = true;
    return Buffer.concat(parts.map(([raw, other]) => other ?? raw));
  });
  return isChanged ? withMessages(image, messages) : undefined;
}

/**
 * A timer that repeats, and that ran out while CRIU worked, has no time left until somebody reads it. CRIU sets it to that, which stops it for
 * ever: with the shortest time left it goes on. One that the program has stopped has run out no time since.
 */
function mendedTimer({ number, bytes }: Field): Buffer | undefined {
  if (number !== FILE.timer || !bytes) return undefined;
  const fields = fieldsIn(bytes);
  const isSet = (a: number, b: number) => numberIn(fields, a) !== 0n || numberIn(fields, b) !== 0n;
  if (numberIn(fields, TIMER.ticks) === 0n || isSet(TIMER.seconds, TIMER.nanoseconds) || !isSet(TIMER.everySeconds, TIMER.everyNanoseconds))
    return undefined;
  const parts = fields.map((field) => (field.number === TIMER.nanoseconds ? numberField(field.number, 1n) : field.raw));
  return bytesField(number, Buffer.concat(parts));
}

/**
 * The directory of a process: CRIU writes a slash over the end of its name, and what stood behind it in its memory after that. `ofProcess`: what such
 * a directory has (`fd`).
 */
function mendedPath({ number, bytes }: Field, ofProcess: ReadonlySet<string>): Buffer | undefined {
  if (number !== FILE.regular || !bytes) return undefined;
  const fields = fieldsIn(bytes);
  const name = bytesIn(fields, REGULAR.name)?.toString("latin1") ?? "";
  const [, directory, rest] = /^(\/proc\/\d+)\/(.*)$/s.exec(name) ?? [];
  if (directory === undefined || rest === undefined || ofProcess.has(rest.split("/", 1)[0] as string)) return undefined;
  const parts = fields.map((field) => (field.number === REGULAR.name ? bytesField(field.number, Buffer.from(directory)) : field.raw));
  return bytesField(number, Buffer.concat(parts));
}

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
