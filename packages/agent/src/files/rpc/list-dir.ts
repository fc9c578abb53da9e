import { readdir, stat } from "node:fs";
import { AppError, withoutTrailing } from "@boxyard/core";
import { type EntryInfo, EntryInfoTable } from "@boxyard/spec/agent";
import type { BodyClaim } from "../../body/budget.ts";
import { EncodedMessage, type Users } from "../../contracts.ts";
import { encodeMessage } from "../../rpc/codec.ts";
import { EntryReader } from "../entry-info.ts";
import { LIMITS } from "../limits.ts";
import { errnoOf, fileError } from "../sys/errno.ts";
import { TimeSlice } from "../time-slice.ts";

/** Text gathered before it is turned into bytes. */
const PIECE_CHARS = 64 * 1024;
const encoder = new TextEncoder();
const SLASH = Buffer.from("/");
/** Characters for which the order of UTF-16 differs from that of bytes. U+FFFD is among them, which replaces bytes that are not UTF-8. */
const LATE = /[\ud800-\uffff]/;
/**
 * Errors of entries that are left out of a listing: removed or replaced meanwhile, of a process that has ended (`EINVAL` for `net` of a zombie),
 * or not readable even for root, as `/proc/tty/driver` of a sandbox.
 */
const LEFT_OUT = new Set(["ENOENT", "ENOTDIR", "ESRCH", "EINVAL", "EACCES", "EPERM"]);

// Not `node:fs/promises`: loading it costs 1.5 ms at every start of the agent.

function isDirectory(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => stat(path, (error, found) => (error ? reject(error) : resolve(found.isDirectory()))));
}

/** A name as text; with its bytes where they are not UTF-8. */
interface Name {
  readonly text: string;
  readonly bytes?: Buffer;
}

/** A path: text, or bytes where one of its names is not UTF-8. */
type Place = string | Buffer;

function readNames(place: Place): Promise<string[]> {
  return new Promise((resolve, reject) => readdir(place, (error, names) => (error ? reject(error) : resolve(names))));
}

function readRawNames(place: Place): Promise<Buffer[]> {
  return new Promise((resolve, reject) => readdir(place, "buffer", (error, names) => (error ? reject(error) : resolve(names))));
}

/** Names in the order of their bytes. */
async function namesIn(place: Place): Promise<Name[]> {
  const texts = await readNames(place);
  if (!texts.some((text) => LATE.test(text))) return texts.sort().map((text) => ({ text }));
  const raw = await readRawNames(place);
  return raw.sort(Buffer.compare).map((bytes) => {
    const text = bytes.toString();
    return bytes.equals(Buffer.from(text)) ? { text } : { text, bytes };
  });
}

function below(dir: Place, { text, bytes }: Name): Place {
  if (typeof dir === "string" && !bytes) return `${dir}/${text}`;
  return Buffer.concat([Buffer.from(dir), SLASH, bytes ?? Buffer.from(text)]);
}

async function checkDirectory(path: string): Promise<void> {
  try {
    if (await isDirectory(path)) return;
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === "ENOENT") throw new AppError("not_found", `path not found: ${path}`, { reason: "not_found", cause: error });
    if (errno === "ELOOP")
      throw new AppError("failed_precondition", `too many symbolic links: ${path}`, { reason: "link_loop", cause: error });
    throw fileError(`list '${path}'`, error);
  }
  throw new AppError("invalid_argument", `path is not a directory: ${path}`, { reason: "not_a_directory" });
}

export interface Listing {
  readonly users: Users;
  readonly path: string;
  /** How many levels; 0 counts as 1. */
  readonly depth: number;
  /** Aborting rejects with the signal's reason. */
  readonly signal: AbortSignal;
  readonly present: (entry: EntryInfo) => EntryInfo;
}

/**
 * Calls `onEntry` for each entry below a directory, a directory before its content, in the order of the names' bytes. Links are listed and not
 * followed, but the path itself may be a link. Entries with errors of `LEFT_OUT` are skipped. Throws `failed_precondition` for more entries than
 * one answer can hold, and an error for a directory that cannot be read.
 */
async function listDir({ users, path, depth, signal }: Listing, onEntry: (entry: EntryInfo) => Promise<void> | undefined): Promise<void> {
  await checkDirectory(path);
  const reader = new EntryReader(users);
  const slice = new TimeSlice();
  let count = 0;
  const walk = async (names: readonly Name[], dir: string, place: Place, levels: number): Promise<void> => {
    for (const name of names) {
      const at = below(place, name);
      const shown = typeof at === "string" ? at : `${dir}/${name.text}`;
      const entry = readEntry(reader, shown, at);
      if (!entry) continue;
      if (++count > LIMITS.listEntries) throw tooMany(path);
      const taken = onEntry(entry);
      if (taken) await taken;
      if (levels > 1 && entry.type === "FILE_TYPE_DIRECTORY" && !entry.isSymlink) {
        const inside = await namesIn(at).catch((error) => leftOut(`list '${shown}'`, error));
        if (inside) await walk(inside, shown, at, levels - 1);
      }
      const turn = slice.turn();
      if (turn) await turn;
      signal.throwIfAborted();
    }
  };
  const top = withoutTrailing(path, "/");
  await walk(await namesAtTop(path), top, top, Math.max(depth, 1));
}

async function namesAtTop(path: string): Promise<Name[]> {
  try {
    return await namesIn(path);
  } catch (error) {
    throw fileError(`list '${path}'`, error);
  }
}

function readEntry(reader: EntryReader, shown: string, place: Place): EntryInfo | undefined {
  try {
    return typeof place === "string" ? reader.read(place) : reader.readBytes(shown, place);
  } catch (error) {
    return leftOut(`look at '${shown}'`, error);
  }
}

/** Returns undefined for an error of `LEFT_OUT`; throws every other. */
function leftOut(what: string, error: unknown): undefined {
  if (!LEFT_OUT.has(errnoOf(error) ?? "")) throw fileError(what, error);
}

/**
 * The answer of ListDir, encoded entry by entry: as one tree of objects it would take fifteen times the memory, and block the loop while it is
 * encoded. `claim` grows with it and is released when the client has received the answer.
 */
export async function listDirMessage(listing: Listing, claim: BodyClaim): Promise<EncodedMessage> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  let text = '{"entries":[';
  let first = true;
  const cut = () => {
    const piece = encoder.encode(text);
    text = "";
    bytes += piece.length;
    pieces.push(piece);
    return claim.hold(bytes);
  };
  try {
    await listDir(listing, (entry) => {
      const json = encodeMessage(EntryInfoTable, listing.present(entry));
      text += first ? json : `,${json}`;
      first = false;
      return text.length < PIECE_CHARS ? undefined : cut();
    });
    text += "]}";
    await cut();
    return new EncodedMessage(pieces, () => claim.release());
  } catch (error) {
    claim.release();
    throw error;
  }
}

function tooMany(path: string): AppError {
  const message = `'${path}' holds more than ${LIMITS.listEntries} entries; list its directories one by one`;
  return new AppError("failed_precondition", message, { reason: "too_many_entries" });
}
