import {
  closeSync,
  existsSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  realpathSync,
  type Stats,
} from "node:fs";
import { basename, join, relative, sep } from "node:path";
import { gunzipSync } from "node:zlib";
import { InvalidArgumentError } from "../errors.ts";
import type { ContextEntry } from "./copy-source.ts";
import { cleanPath, ignoreRules, isPattern, matcher } from "./patterns.ts";

/** What a COPY or ADD of a Dockerfile takes out of the context. */
export interface ContextSources {
  readonly context: string;
  /** Paths and patterns; `/` at their beginning means the context. */
  readonly sources: readonly string[];
  /** Archives are to be unpacked. */
  readonly isAdd: boolean;
  /** Path of the file that says what is left out. */
  readonly ignoreFile: string;
}

/** A path of the context as the server takes it. */
export interface SentSource {
  readonly path: string;
  readonly name?: string;
  readonly extract?: true;
}

interface Rules {
  ignores(path: string): boolean;
  readonly hasExceptions: boolean;
}

/**
 * The entries that a COPY of a Dockerfile takes, and its sources in the form that the server takes. As with builders of images, patterns match dot files, and a
 * link that is named stands for what it points to.
 *
 * @throws InvalidArgumentError with reason `copy_outside_context` or `copy_nothing`.
 */
export function sourcesOf({ context, sources, isAdd, ignoreFile }: ContextSources): { entries: ContextEntry[]; sent: SentSource[] } {
  const rules = ignoreRules(existsSync(ignoreFile) ? readFileSync(ignoreFile, "utf8") : "");
  const entries = new Map<string, ContextEntry>();
  const sent: SentSource[] = [];
  for (const source of sources) {
    if (source.split("/").includes("..")) throw refusal(`a source below ${context} is needed, not '${source}'`, "copy_outside_context");
    let count = 0;
    for (const match of matchesOf(context, cleanPath(source), rules)) {
      const path = resolved(context, match);
      const found = [...entriesBelow(context, path, rules)];
      if (found.length === 0) continue;
      count++;
      for (const entry of found) entries.set(entry.path, entry);
      const isArchive = isAdd && found.length === 1 && found[0]?.kind === "file" && looksLikeArchive(found[0].absolute);
      sent.push({ path: path || ".", ...(match === "" ? {} : { name: basename(match) }), ...(isArchive ? { extract: true } : {}) });
    }
    if (count === 0) throw refusal(`nothing in ${context} is '${source}' (or .dockerignore leaves it out)`, "copy_nothing");
  }
  return { entries: [...entries.values()].sort((a, b) => (a.path < b.path ? -1 : 1)), sent };
}

/** Paths that a source names, in order. */
function matchesOf(context: string, source: string, rules: Rules): string[] {
  if (!isPattern(source)) return [source];
  let found = [""];
  for (const part of source.split("/")) {
    const fits = matcher(part);
    found = found.flatMap((directory) => {
      const names = isDirectory(join(context, directory)) ? readdirSync(join(context, directory)).filter(fits).sort() : [];
      return names.map((name) => (directory ? `${directory}/${name}` : name));
    });
  }
  return found.filter((path) => !rules.ignores(path) || rules.hasExceptions);
}

const isDirectory = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** The path without links; they must not lead out of the context. */
function resolved(context: string, path: string): string {
  const absolute = join(context, path);
  if (!existsSync(absolute)) return path;
  const root = realpathSync(context);
  const real = realpathSync(absolute);
  if (real !== root && !real.startsWith(root.endsWith(sep) ? root : root + sep)) {
    throw refusal(`'${path}' is a link that leads out of ${context}`, "copy_outside_context");
  }
  return relative(root, real).split(sep).join("/");
}

/** A path and all that is below it, without what is left out. */
function* entriesBelow(context: string, path: string, rules: Rules): Generator<ContextEntry> {
  const entry = path === "" ? undefined : entryAt(context, path);
  if (path !== "" && !entry) return;
  const isIgnored = path !== "" && rules.ignores(path);
  if (entry && !isIgnored) yield entry;
  if (entry && entry.kind !== "directory") return;
  if (isIgnored && !rules.hasExceptions) return;
  for (const name of readdirSync(join(context, path)).sort()) yield* entriesBelow(context, path ? `${path}/${name}` : name, rules);
}

/** What is at a path; undefined for what is no part of a context: sockets, pipes and devices. */
export function entryAt(context: string, path: string): ContextEntry | undefined {
  const absolute = join(context, path);
  const stat: Stats | undefined = lstatSync(absolute, { throwIfNoEntry: false });
  if (!stat) return undefined;
  const kind = stat.isFile() ? "file" : stat.isDirectory() ? "directory" : stat.isSymbolicLink() ? "symlink" : undefined;
  if (!kind) return undefined;
  const target = kind === "symlink" ? readlinkSync(absolute) : "";
  return { path, absolute, kind, mode: stat.mode, size: kind === "file" ? stat.size : 0, target };
}

const BLOCK = 512;
const GZIP = Buffer.from([0x1f, 0x8b]);
const OTHERS = [
  { magic: Buffer.from("BZh"), name: /\.(tar\.bz2|tbz2?)$/ },
  { magic: Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a]), name: /\.(tar\.xz|txz)$/ },
];

/** Whether ADD unpacks a file: a tar, plain or compressed, told by its content (and its name, where only the image's programs can read it). */
function looksLikeArchive(path: string): boolean {
  const head = Buffer.alloc(8 * BLOCK);
  const file = openSync(path, "r");
  let bytes: Buffer;
  try {
    bytes = head.subarray(0, readSync(file, head, 0, head.length, 0));
  } finally {
    closeSync(file);
  }
  if (OTHERS.some(({ magic, name }) => bytes.subarray(0, magic.length).equals(magic) && name.test(path))) return true;
  if (!bytes.subarray(0, 2).equals(GZIP)) return isTarHeader(bytes);
  try {
    return isTarHeader(gunzipSync(bytes, { finishFlush: 2, maxOutputLength: 1 << 24 }));
  } catch {
    return false;
  }
}

/** The sum of a header's bytes stands in it. */
function isTarHeader(bytes: Buffer): boolean {
  if (bytes.length < BLOCK) return false;
  const stated = Number.parseInt(
    bytes
      .toString("latin1", 148, 156)
      .replace(/[\0 ]+$/, "")
      .trim(),
    8,
  );
  const sum = bytes.subarray(0, BLOCK).reduce((total, byte, i) => total + (i >= 148 && i < 156 ? 0x20 : byte), 0);
  return stated === sum;
}

function refusal(message: string, reason: string): InvalidArgumentError {
  return new InvalidArgumentError(message, { code: "invalid_argument", reason });
}
