import type { RecordedExchange, RecordedFields } from "@boxyard/driver/recordings";

/** What an answer is looked for by. */
export interface Wish {
  readonly method: string;
  readonly url: string;
  /** SHA-256 of the body in hex; empty without one. */
  readonly digest: string;
  /** Value of a field of the request, by its name in lower case. */
  field(name: string): string | undefined;
}

/** Where an exchange is, and what is needed to choose among those with the same key. */
interface Entry {
  readonly at: number;
  readonly length: number;
  readonly accept: number | bigint;
  /** The answer is for clients that have a copy (304). */
  readonly isForCopies: boolean;
  /** Coding of the answer's content; empty without one. */
  readonly coding: string;
}

/** Longest name of a coding that is kept, so that no server fills memory with it. */
const MAX_CODING = 64;
/** In place of a longer one, which no client names. */
const UNKNOWN_CODING = "unknown";

/** Fields by which a client asks for an answer only if its own copy is old. */
const CONDITIONS = ["if-none-match", "if-modified-since"] as const;

/** The exchanges of a recording by method, URL, range and body. It holds their places, and nothing of what they say: some 200 bytes for each. */
export class RecordingIndex {
  private readonly entries = new Map<string, Entry[]>();
  /** Exchanges, also those beyond the bound. */
  count = 0;

  add(exchange: RecordedExchange, at: number, length: number): void {
    this.count += 1;
    const field = (name: string) => fieldOf(exchange.fields, name);
    const key = keyOf({ ...exchange, field });
    const named = fieldOf(exchange.answerFields, "content-encoding")?.toLowerCase() ?? "";
    const coding = named.length > MAX_CODING ? UNKNOWN_CODING : named;
    const entry = { at, length, accept: Bun.hash(field("accept") ?? ""), isForCopies: exchange.status === 304, coding };
    const known = this.entries.get(key);
    if (known) known.push(entry);
    else this.entries.set(key, [entry]);
  }

  /**
   * The exchange that answers a request which is asked for the `turn`th time, from 0: the one that was recorded at that turn, or the last. Answers that the client
   * cannot read are left out, and those to the same `Accept` go first.
   */
  find(wish: Wish, turn: number): Pick<Entry, "at" | "length"> | undefined {
    const isConditional = CONDITIONS.some((name) => wish.field(name) !== undefined);
    const accepts = codingsOf(wish.field("accept-encoding") ?? "");
    const known = this.entries.get(keyOf(wish)) ?? [];
    const readable = known.filter(({ isForCopies, coding }) => (isConditional || !isForCopies) && accepts(coding));
    const accept = Bun.hash(wish.field("accept") ?? "");
    const same = readable.filter((entry) => entry.accept === accept);
    const fitting = same.length > 0 ? same : readable;
    return fitting[Math.min(turn, fitting.length - 1)];
  }
}

/** Whether a client that sends this `Accept-Encoding` takes an answer in a coding, or in several (RFC 9110, 12.5.3). One that names none takes none. */
export function codingsOf(asked: string): (coding: string) => boolean {
  const taken = new Map<string, boolean>();
  for (const part of asked.toLowerCase().split(",")) {
    const [name = "", ...parameters] = part.split(";").map((text) => text.trim());
    taken.set(name, !parameters.some((text) => /^q=0(\.0*)?$/.test(text)));
  }
  const takes = (name: string) => name === "" || name === "identity" || (taken.get(name) ?? taken.get("*") ?? false);
  return (coding) => coding.split(",").every((name) => takes(name.trim()));
}

/** What requests have in common that get the same answers. */
export const keyOf = ({ method, url, digest, field }: Wish): string =>
  Bun.hash(`${method}\n${url}\n${field("range") ?? ""}\n${digest}`).toString(36);

const fieldOf = (fields: RecordedFields, name: string): string | undefined => fields.find(([other]) => other.toLowerCase() === name)?.[1];
