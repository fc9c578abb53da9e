import type { BigIntStats } from "node:fs";

/*
 * Conditional requests (RFC 9110 section 13).
 */

/** Identify one version of a file (RFC 9110 section 8.8). */
export interface Validators {
  /** Strong entity tag with its quotes. */
  readonly etag: string;
  /** Whole seconds since 1970. */
  readonly modified: number;
}

/** Replacing a file changes its inode, writing to it its modification time. */
export function validatorsOf(stat: BigIntStats): Validators {
  return {
    etag: `"${stat.mtimeNs.toString(16)}-${stat.size.toString(16)}-${stat.ino.toString(16)}"`,
    modified: Number(stat.mtimeNs / 1_000_000_000n),
  };
}

function dateOf(header: string | null): number | undefined {
  const ms = header === null ? Number.NaN : Date.parse(header);
  return Number.isNaN(ms) ? undefined : Math.floor(ms / 1000);
}

const weak = (etag: string) => etag.replace(/^W\//, "");

function listed(header: string, etag: string, strong: boolean): boolean {
  if (header.trim() === "*") return true;
  const tags = header.match(/(?:W\/)?"[^"]*"/g) ?? [];
  return tags.some((tag) => (strong ? tag === etag : weak(tag) === etag));
}

/** 412, 304, or undefined to go on, in the order of RFC 9110 section 13.2.2. */
export function precondition(headers: Headers, file: Validators): 304 | 412 | undefined {
  const match = headers.get("If-Match");
  if (match !== null) {
    if (!listed(match, file.etag, true)) return 412;
  } else {
    const unmodified = dateOf(headers.get("If-Unmodified-Since"));
    if (unmodified !== undefined && file.modified > unmodified) return 412;
  }
  const none = headers.get("If-None-Match");
  if (none !== null) return listed(none, file.etag, false) ? 304 : undefined;
  const since = dateOf(headers.get("If-Modified-Since"));
  return since !== undefined && file.modified <= since ? 304 : undefined;
}

/** Whether the Range header applies: there is no If-Range, or it names this version. */
export function rangeApplies(headers: Headers, file: Validators): boolean {
  const header = headers.get("If-Range")?.trim();
  if (header === undefined) return true;
  if (header.startsWith('"') || header.startsWith("W/")) return header === file.etag;
  return dateOf(header) === file.modified;
}

const CONDITIONS = ["Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"];

/** Requests with these headers get identity, because ranges and tags refer to the bytes as stored. */
export function isConditional(headers: Headers): boolean {
  return CONDITIONS.some((name) => headers.has(name));
}
