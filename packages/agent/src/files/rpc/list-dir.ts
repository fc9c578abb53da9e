import { readdir, readdirSync, stat } from "node:fs";
import { AppError } from "@boxyard/core";
import { type EntryInfo, EntryInfoTable } from "@boxyard/spec/agent";
import { EncodedMessage, type Users } from "../../contracts.ts";
import { encodeMessage } from "../../rpc/codec.ts";
import { LIMITS } from "../limits.ts";
import { errnoOf, fileError } from "../sys/errno.ts";
import { TimeSlice } from "../time-slice.ts";
import { EntryReader } from "./entry-info.ts";

/** Text gathered before it is turned into bytes. */
const PIECE_CHARS = 64 * 1024;
const encoder = new TextEncoder();
/** Stands in a name for bytes that are no text. */
const REPLACED = "\ufffd";

// Not `node:fs/promises`: loading it costs 1.5 ms at every start of the agent.

function isDirectory(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => stat(path, (error, found) => (error ? reject(error) : resolve(found.isDirectory()))));
}

/** Names in lexical order; none when the directory is gone or no longer one. */
function namesIn(path: string): Promise<string[]> {
  return new Promise((resolve) => readdir(path, (error, names) => resolve(error ? [] : names.sort())));
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

/**
 * The entries below a directory down to `depth` levels (0 counts as 1), each directory before its content, in lexical order, told one by
 * one. Links are listed and not descended, but `path` itself may be one. What vanishes meanwhile is left out. Throws `failed_precondition`
 * for more entries than one answer can hold.
 */
export async function listDir(users: Users, path: string, depth: number, onEntry: (entry: EntryInfo) => void): Promise<void> {
  await checkDirectory(path);
  const reader = new EntryReader(users);
  const slice = new TimeSlice();
  let count = 0;
  const walk = async (dir: string, levels: number): Promise<void> => {
    for (const name of await namesIn(dir === "" ? "/" : dir)) {
      const entry = safely(() => reader.read(`${dir}/${name}`)) ?? (name.includes(REPLACED) ? byBytes(reader, dir, name) : undefined);
      if (!entry) continue;
      if (++count > LIMITS.listEntries) throw tooMany(path);
      onEntry(entry);
      if (levels > 1 && entry.type === "FILE_TYPE_DIRECTORY" && !entry.isSymlink) await walk(entry.path, levels - 1);
      const turn = slice.turn();
      if (turn) await turn;
    }
  };
  await walk(path.replace(/\/+$/, ""), Math.max(depth, 1));
}

/** The answer of ListDir as text: as objects it would take fifteen times the memory and block the loop while it is encoded. */
export async function listDirMessage(users: Users, path: string, depth: number): Promise<EncodedMessage> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let text = '{"entries":[';
  let first = true;
  await listDir(users, path, depth, (entry) => {
    text += first ? encodeMessage(EntryInfoTable, entry) : `,${encodeMessage(EntryInfoTable, entry)}`;
    first = false;
    if (text.length < PIECE_CHARS) return;
    pieces.push(encoder.encode(text));
    text = "";
  });
  pieces.push(encoder.encode(`${text}]}`));
  return new EncodedMessage(pieces);
}

/** An entry whose name is no text, found again by its bytes. */
function byBytes(reader: EntryReader, dir: string, name: string): EntryInfo | undefined {
  return safely(() => {
    const names = readdirSync(dir || "/", { encoding: "buffer" }) as Buffer[];
    const bytes = names.find((candidate) => candidate.toString() === name);
    return bytes && reader.readBytes(`${dir}/${name}`, Buffer.concat([Buffer.from(`${dir}/`), bytes]));
  });
}

function safely<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}

function tooMany(path: string): AppError {
  const message = `'${path}' holds more than ${LIMITS.listEntries} entries; list its directories one by one`;
  return new AppError("failed_precondition", message, { reason: "too_many_entries" });
}
