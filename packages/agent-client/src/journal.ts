import { type AgentAccess, urlOf } from "./access.ts";

/** What an agent says of its commands and of itself; the word of the guest. */
export interface GuestEntry {
  /** Number within one run of the agent. */
  readonly seq: number;
  /** Milliseconds since 1970, by the guest. */
  readonly at: number;
  readonly kind: "started" | "ended" | "agent";
  readonly text: string;
  readonly pid?: number;
  readonly exitCode?: number;
  readonly ms?: number;
}

export interface GuestJournal {
  /** Oldest first, with rising numbers. */
  readonly entries: readonly GuestEntry[];
  /** Number of the newest entry that the agent has. */
  readonly last: number;
  /** Commands that run. */
  readonly running: number;
}

const MAX_BYTES = 1 << 20;
const MAX_ENTRIES = 200;
/** Characters of a text; what is longer is cut off. */
export const MAX_TEXT = 500;
/** Of numbers and times: later than any time of this millennium. */
const MOST = 2 ** 45;
/** Of a body, with those that later agents may add. */
const MAX_LEVELS = 8;
const MAX_MEMBERS = 20 * MAX_ENTRIES;
const KINDS: ReadonlySet<unknown> = new Set(["started", "ended", "agent"]);

/**
 * Entries of the agent's journal after `after`. Undefined when the agent has none (an older one), does not answer before the signal aborts, or answers
 * something else. Whatever answers may be hostile: no redirect is followed, a body has a megabyte at most, and entries that are not in order are left out.
 */
export async function readJournal(agent: AgentAccess, after: number, signal: AbortSignal): Promise<GuestJournal | undefined> {
  try {
    const response = await fetch(`${urlOf(agent)}/boxyard/journal?after=${after}`, {
      headers: { "X-Access-Token": agent.accessToken },
      redirect: "manual",
      keepalive: false,
      signal,
    });
    const text = response.status === 200 ? await bounded(response) : void response.body?.cancel();
    return text === undefined || !mayBeJournal(text) ? undefined : journalOf(JSON.parse(text), after);
  } catch {
    return undefined;
  }
}

/** The text of a body; undefined when it is longer than `MAX_BYTES`. */
async function bounded(response: Response): Promise<string | undefined> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of response.body ?? []) {
    length += piece.byteLength;
    if (length > MAX_BYTES) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

/**
 * Whether a text has no more levels and members than a journal. A parser takes up to a hundred times as long for a megabyte of brackets or of names as for
 * one of texts, and the server does nothing else meanwhile.
 */
function mayBeJournal(text: string): boolean {
  let [levels, members] = [0, 0];
  for (let i = 0; i < text.length; i++) {
    const character = text[i];
    if (character === '"') i = endOfText(text, i);
    else if (character === "[" || character === "{") levels++;
    else if (character === "]" || character === "}") levels--;
    else if (character === ",") members++;
    if (levels > MAX_LEVELS || members > MAX_MEMBERS) return false;
  }
  return true;
}

/** Where the text ends that begins at `start`. */
function endOfText(text: string, start: number): number {
  let i = start + 1;
  while (i < text.length && text[i] !== '"') i += text[i] === "\\" ? 2 : 1;
  return i;
}

/** An answer as a journal, as far as it is one. */
export function journalOf(answer: unknown, after: number): GuestJournal | undefined {
  const { entries, last, running } = (answer ?? {}) as Record<string, unknown>;
  if (!Array.isArray(entries) || !isCount(last) || !isCount(running)) return undefined;
  const found: GuestEntry[] = [];
  let before = after;
  for (const entry of entries.slice(0, MAX_ENTRIES).map(entryOf)) {
    if (!entry || entry.seq <= before) continue;
    before = entry.seq;
    found.push(entry);
  }
  return { entries: found, last, running };
}

function entryOf(value: unknown): GuestEntry | undefined {
  const { seq, at, kind, text, pid, exitCode, ms } = (value ?? {}) as Record<string, unknown>;
  if (!isCount(seq) || !isCount(at) || !KINDS.has(kind) || typeof text !== "string") return undefined;
  return {
    seq,
    at,
    kind: kind as GuestEntry["kind"],
    text: text.slice(0, MAX_TEXT),
    ...(isCount(pid) && { pid }),
    ...(Number.isInteger(exitCode) && { exitCode: exitCode as number }),
    ...(isCount(ms) && { ms }),
  };
}

const isCount = (value: unknown): value is number => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MOST;
