import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { bytesField, bytesIn, type Field, fieldsIn, messagesIn, numberField, numberIn, withMessages } from "../criu/image-messages.ts";

/*
 * What processes have open, in CRIU's `files.img` (criu/images/fdinfo.proto and those of each kind of file). What CRIU writes wrongly is corrected, and
 * sockets with the sandbox's own address get its new address.
 */

export const OPEN_FILES = "files.img";
/** Some sixty thousand files: the server reads all of them at once, which blocks it for a third of a second at most. */
const MAX_BYTES = 2 ** 21;

/** Fields of `file_entry`: the number of an open file, and what it is. */
const FILE = { id: 2, regular: 3, inetSocket: 4, timer: 12, memory: 20 } as const;
const REGULAR = { name: 6, size: 8, mode: 10 } as const;
const TIMER = { ticks: 5, seconds: 7, nanoseconds: 8, everySeconds: 9, everyNanoseconds: 10 } as const;
const SOCKET = { source: 11, destination: 12 } as const;
/** An IPv4 address in a socket of IPv6: two words of zeros, this one, the address; in the order of bytes that the machine has. */
const MAPPED_WORD = BigInt(0xffff0000);

/**
 * Corrects `files.img` in a directory of images, where necessary. `volumes`: paths at which volumes are mounted. Returns the numbers of files that are in memory alone (memfd). Throws
 * `failed_precondition`, reason `too_many_files`, when there are more files than the server reads at once.
 */
export function mendOpenFiles(images: string, volumes: readonly string[] = []): Set<bigint> {
  const path = join(images, OPEN_FILES);
  if (statSync(path).size > MAX_BYTES) {
    throw new AppError("failed_precondition", "The sandbox's processes have too many files open", { reason: "too_many_files" });
  }
  const image = readFileSync(path);
  const ofProcess = new Set(readdirSync("/proc/self"));
  const inMemory = new Set<bigint>();
  const mended = changed(image, (field, fields) => {
    if (field.number === FILE.memory) inMemory.add(numberIn(fields, FILE.id));
    return mendedTimer(field) ?? mendedPath(field, ofProcess) ?? uncheckedFile(field, volumes);
  });
  if (mended !== undefined) writeFileSync(path, mended);
  return inMemory;
}

/** Writes a copy of `files.img` to `target` in which sockets have the address `to` instead of `from`. False, without a copy, when no socket has `from`. */
export function moveSockets(images: string, from: string, to: string, target: string): boolean {
  const moved = changed(readFileSync(join(images, OPEN_FILES)), (field) => movedSocket(field, word(from), word(to)));
  if (moved !== undefined) writeFileSync(target, moved, { mode: 0o644 });
  return moved !== undefined;
}

/** The image with changed fields; undefined when none changes. `change` returns the new bytes of a field of a file, or undefined to keep it. */
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
 * A repeating timer that expired while CRIU worked has no time left until it is read. CRIU restores it with that time, zero, which stops the timer for
 * ever; with one nanosecond left it goes on. A timer that the program has stopped has no expirations.
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
 * An open directory of a process (/proc/<pid>): CRIU replaces the end of its name by a slash and appends bytes of its memory. `ofProcess`: names that
 * exist in such a directory (`fd`).
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

export const isBelow = (path: string, directories: readonly string[]): boolean =>
  directories.some((directory) => `/${path.replace(/^\/+/, "")}/`.startsWith(`${directory}/`));

/** A file of a volume, without its size and mode: others may change them meanwhile, and CRIU would refuse to open it then. */
function uncheckedFile({ number, bytes }: Field, volumes: readonly string[]): Buffer | undefined {
  if (volumes.length === 0 || number !== FILE.regular || !bytes) return undefined;
  const fields = fieldsIn(bytes);
  if (!isBelow(bytesIn(fields, REGULAR.name)?.toString("utf8") ?? "", volumes)) return undefined;
  const kept = fields.filter((field) => field.number !== REGULAR.size && field.number !== REGULAR.mode);
  return bytesField(number, Buffer.concat(kept.map(({ raw }) => raw)));
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

/** `10.0.0.1` as the kernel has it in memory (network byte order), read as a little-endian number. */
function word(address: string): bigint {
  return BigInt(Buffer.from(address.split(".").map(Number)).readUInt32LE());
}
