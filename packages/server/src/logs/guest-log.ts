import { type AgentAccess, readJournal } from "@boxyard/agent-client";
import { atOnce, type Clock, Rounds, TimeLimit, within } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import { isStoreFault, type SandboxLogStore, type SandboxRecord } from "../store/index.ts";
import { guestLines } from "./guest-lines.ts";
import { KEEP } from "./sandbox-logs.ts";

const EVERY_MS = 5000;
const AT_ONCE = 8;
/** How long an agent may take in a round. */
const ROUND_MS = 2000;
/** Commands that run while nobody calls the agent: how often the agent is asked whether they have ended. */
const QUIET_MS = 60_000;
/** Answers of one reading: the whole of what an agent keeps. */
const PAGES = 2;

/** One start of a sandbox, with its agent's address. */
interface Incarnation {
  readonly address: AgentAccess["address"] | undefined;
  readonly isReachable: boolean;
  readonly signal: AbortSignal;
}

interface Sandbox {
  readonly id: string;
  readonly state: string;
  readonly record: SandboxRecord;
  readonly incarnation: Incarnation | undefined;
}

export interface GuestLogParts {
  readonly sandboxes: { ofUsers(): readonly Sandbox[] };
  /** How many answers of a sandbox's agent have come through the proxy. */
  readonly answersOf: (id: string) => number;
  /** The token of a sandbox's agent. */
  readonly tokenOf: (id: string) => string;
  readonly store: { readonly sandboxLogs: Pick<SandboxLogStore, "add"> };
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What was read of the journal of one incarnation. */
interface Known {
  readonly seq: number;
  /** Answers of the agent that had come through the proxy before. */
  readonly answers: number;
  readonly running: number;
  readonly readAt: number;
}

/**
 * Brings what the agents say of their commands into the logs of their sandboxes. An agent that nobody has called since is not asked, so a sandbox that does
 * nothing costs nothing. What was read twice, after a restart or a resume, is written once: time and number make the key of a line.
 */
export class GuestLog {
  private readonly parts: GuestLogParts;
  private readonly rounds: Rounds;
  private readonly known = new WeakMap<Incarnation, Known>();
  private readonly reading = new WeakMap<Incarnation, Promise<void>>();

  constructor(parts: GuestLogParts) {
    this.parts = parts;
    const { clock, logger } = parts;
    const onError = (error: unknown) => {
      if (!isStoreFault(error)) logger.error({ err: error }, "reading what agents say failed; it will be tried again");
    };
    this.rounds = new Rounds(() => this.once(), { clock, everyMs: EVERY_MS, onError });
  }

  start(): void {
    this.rounds.start();
  }

  stop(): Promise<void> {
    return this.rounds.stop();
  }

  /** One round over all sandboxes that may have something to say. */
  async once(): Promise<void> {
    const due = this.parts.sandboxes.ofUsers().filter((sandbox) => this.isDue(sandbox, QUIET_MS));
    await atOnce(due, AT_ONCE, (sandbox) => this.read(sandbox, ROUND_MS));
  }

  /** Resolves when the sandbox's log has what its agent can say now, or after `limitMs`. Never rejects. */
  async catchUp(sandbox: Sandbox | undefined, limitMs: number): Promise<void> {
    if (sandbox?.record.owner.kind !== "user" || !this.isDue(sandbox, 0)) return;
    // A round that reads the same journal already, and the store, may take longer.
    await within(this.read(sandbox, limitMs), limitMs, () => new Error("late"), this.parts.clock).catch(() => {});
  }

  private isDue({ id, state, incarnation }: Sandbox, quietMs: number): boolean {
    if (state !== "running" || !incarnation?.isReachable) return false;
    const known = this.known.get(incarnation);
    const answers = this.parts.answersOf(id);
    if (!known) return answers > 0;
    return answers !== known.answers || (known.running > 0 && this.parts.clock.monotonic() - known.readAt >= quietMs);
  }

  /** Reads the journal of a sandbox, once for all who want it at the same time. */
  private read(sandbox: Sandbox, limitMs: number): Promise<void> {
    const { incarnation } = sandbox;
    if (!incarnation) return Promise.resolve();
    const under = this.reading.get(incarnation);
    if (under) return under;
    const reading = this.readAll(sandbox, incarnation, limitMs).finally(() => this.reading.delete(incarnation));
    this.reading.set(incarnation, reading);
    return reading;
  }

  private async readAll(sandbox: Sandbox, incarnation: Incarnation, limitMs: number): Promise<void> {
    const { answersOf, tokenOf, store, clock } = this.parts;
    const { id, record } = sandbox;
    const { address } = incarnation;
    if (!address) return;
    const agent = { address, accessToken: tokenOf(id) };
    using limit = new TimeLimit(limitMs, clock);
    const signal = AbortSignal.any([incarnation.signal, limit.signal]);
    let { seq } = this.known.get(incarnation) ?? { seq: 0 };
    for (let page = 0; page < PAGES; page++) {
      const [answers, readAt] = [answersOf(id), clock.monotonic()];
      const journal = await readJournal(agent, seq, signal);
      const lines = journal ? guestLines(record, journal.entries, clock.now()) : [];
      await store.sandboxLogs.add(lines, KEEP);
      seq = journal?.entries.at(-1)?.seq ?? seq;
      this.known.set(incarnation, { seq, answers, readAt, running: journal?.running ?? 0 });
      if (!journal || journal.entries.length === 0 || seq >= journal.last) return;
    }
  }
}
