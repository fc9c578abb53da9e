import type { Clock, SandboxId, TeamId } from "@boxyard/core";
import { canonicalHost, type NetworkAttempt } from "@boxyard/driver";
import type { EventStore, NewEvent } from "../store/index.ts";

/** Shortest time between two events of a sandbox. It doubles with each one, because a sandbox that goes on must not displace the events of others. */
const FIRST_WAIT_MS = 60_000;
const MOST_WAIT_MS = 3_600_000;
/** A sandbox that was denied nothing for so long begins anew. */
const QUIET_MS = 2 * MOST_WAIT_MS;
/** Names and addresses that an event has: the first. */
const MOST_SHOWN = 5;

type Attempt = Pick<NetworkAttempt, "name" | "address" | "port">;

/** What a sandbox was denied since its last event. */
interface Denied {
  readonly teamId: TeamId;
  count: number;
  readonly names: Set<string>;
  readonly addresses: Set<string>;
}

/** Monotonic milliseconds. */
interface Turn {
  readonly toldAt: number;
  readonly waitMs: number;
}

/** Tells in events (`sandbox.denied`) that sandboxes were denied what they tried to reach: at once the first time, then at most once a minute. */
export class Denials {
  private readonly events: Pick<EventStore, "note">;
  private readonly clock: Pick<Clock, "monotonic">;
  private readonly waiting = new Map<SandboxId, Denied>();
  private readonly turns = new Map<SandboxId, Turn>();

  constructor(events: Pick<EventStore, "note">, clock: Pick<Clock, "monotonic">) {
    this.events = events;
    this.clock = clock;
  }

  add(id: SandboxId, teamId: TeamId, { name, address, port }: Attempt): void {
    const denied = this.of(id, teamId);
    denied.count += 1;
    const host = name === undefined ? undefined : canonicalHost(name);
    if (host !== undefined) show(denied.names, host);
    else if (address !== undefined) show(denied.addresses, port === undefined ? address : `${address}:${port}`);
  }

  /** Writes the events that are due: those of sandboxes that have ended too. What the store does not take is told by the next call. */
  async tell(isLiving: (id: SandboxId) => boolean): Promise<void> {
    const now = this.clock.monotonic();
    for (const [id, { toldAt }] of this.turns) if (!isLiving(id) || now - toldAt > QUIET_MS) this.turns.delete(id);
    const isDue = (id: SandboxId) => now - (this.turns.get(id)?.toldAt ?? -Infinity) >= (this.turns.get(id)?.waitMs ?? 0);
    const due = [...this.waiting].filter(([id]) => isDue(id));
    if (due.length === 0) return;
    for (const [id] of due) this.waiting.delete(id);
    try {
      await this.events.note(due.map(eventOf));
    } catch (error) {
      for (const [id, denied] of due) this.putBack(id, denied);
      throw error;
    }
    for (const [id] of due) {
      const before = this.turns.get(id);
      this.turns.set(id, { toldAt: now, waitMs: before ? Math.min(MOST_WAIT_MS, 2 * before.waitMs) : FIRST_WAIT_MS });
    }
  }

  private of(id: SandboxId, teamId: TeamId): Denied {
    const found = this.waiting.get(id) ?? { teamId, count: 0, names: new Set<string>(), addresses: new Set<string>() };
    this.waiting.set(id, found);
    return found;
  }

  private putBack(id: SandboxId, denied: Denied): void {
    const newer = this.waiting.get(id);
    this.waiting.set(id, denied);
    if (!newer) return;
    denied.count += newer.count;
    for (const name of newer.names) show(denied.names, name);
    for (const address of newer.addresses) show(denied.addresses, address);
  }
}

function show(shown: Set<string>, text: string): void {
  if (shown.size < MOST_SHOWN) shown.add(text);
}

const eventOf = ([targetId, { teamId, count, names, addresses }]: readonly [SandboxId, Denied]): NewEvent => ({
  action: "sandbox.denied",
  targetId,
  teamId,
  after: { denied: { count, names: [...names], addresses: [...addresses] } },
});
