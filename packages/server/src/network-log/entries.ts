import type { Clock } from "@boxyard/core";
import { type AttemptRule, type EgressPolicy, type NetworkAttempt, parseHostRule, parseRange } from "@boxyard/driver";

/** One line of the record of a sandbox's network. */
export interface NetworkEntry {
  /** Grows by one with each entry of the sandbox. */
  readonly cursor: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** `dropped`: so many more attempts than were kept, which `count` says. */
  readonly verdict: "allowed" | "denied" | "dropped";
  readonly protocol?: NetworkAttempt["protocol"];
  readonly name?: string;
  readonly address?: string;
  readonly port?: number;
  /** Of a request that a recording has no answer to: its method and URL. */
  readonly request?: string;
  readonly answers?: readonly string[];
  /** Of a connection through the egress proxy: what the sandbox sent and received since the last entry of the connection. */
  readonly sentBytes?: number;
  readonly receivedBytes?: number;
  /** What decided, in words: an entry of a list, or a rule of the server. */
  readonly rule: string;
  readonly count?: number;
}

/** Entries of one sandbox that are kept: the newest. */
const MOST_ENTRIES = 1000;

/** The newest entries of one sandbox. Cursors go on over a restart of the server, because they begin with its time. */
export class Entries {
  private readonly kept: NetworkEntry[] = [];
  private next: number;

  constructor(clock: Pick<Clock, "now">) {
    this.next = clock.now() * 1000;
  }

  add(entry: Omit<NetworkEntry, "cursor">): void {
    this.kept.push({ ...entry, cursor: this.next++ });
    if (this.kept.length > MOST_ENTRIES) this.kept.shift();
  }

  all(): readonly NetworkEntry[] {
    return this.kept;
  }
}

const WORDS: Readonly<Record<AttemptRule, string>> = {
  allowed: "nothing denies it",
  internetAccess: "allow_internet_access: false",
  lists: "denied, and not in allowOut",
  names: "the name is not in allowOut",
  blocked: "a private, link-local or metadata address, closed to every sandbox",
  machine: "an address of the machine, closed to every sandbox",
  protocol: "neither TCP nor UDP nor an echo request",
  connections: "as many connections as a sandbox may have",
  replay: "no answer to it is in the recording",
  incompleteReplay: "no answer to it is in the recording, which is incomplete",
};

/** What decided an attempt: the entry of the policy's lists that fits, or the driver's rule. The policy is that of now, a second later at most. */
export function ruleOf({ rule, address, name, entry: decided }: NetworkAttempt, { allowOut = [], denyOut = [] }: EgressPolicy): string {
  // The policy may have changed since the connection began.
  if (decided !== undefined) return `allowOut ${allowOut.find((entry) => parseHostRule(entry) === decided) ?? decided}`;
  const number = address === undefined ? undefined : parseRange(address)?.first;
  const holds = (entry: string) => {
    const range = parseRange(entry);
    return range !== undefined && number !== undefined && range.first <= number && number <= range.last;
  };
  const names = (entry: string) => name !== undefined && fits(parseHostRule(entry), name);
  const allowed = rule === "allowed" ? (allowOut.find(names) ?? allowOut.find(holds)) : undefined;
  if (allowed !== undefined) return `allowOut ${allowed}`;
  const denied = rule === "lists" ? denyOut.find(holds) : undefined;
  return denied === undefined ? WORDS[rule] : `denyOut ${denied}`;
}

/** `rule` is in the form that `parseHostRule` gives. */
function fits(rule: string | undefined, name: string): boolean {
  if (rule === undefined) return false;
  if (rule === "*" || rule === name) return true;
  return rule.startsWith("*.") && name.endsWith(rule.slice(1));
}
