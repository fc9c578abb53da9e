import { type Clock, type SandboxId, VERSION } from "@boxyard/core";
import type { Capacity } from "@boxyard/driver";
import type { ServerState } from "@boxyard/spec/platform";
import type { ServerConfig } from "../config.ts";
import { resourcesFor } from "../sandboxes/create/new-record.ts";
import type { LivingSandboxes } from "../sandboxes/engine/living.ts";
import type { Node, Placement } from "../sandboxes/placement.ts";
import { visibleState } from "../sandboxes/visible-state.ts";
import type { TemplateSpec } from "../store/index.ts";
import type { ServerChecks } from "./checks.ts";
import type { RecentWork } from "./recent.ts";
import { roomFor } from "./room.ts";

const MIB = 2 ** 20;

export interface OverviewParts {
  readonly config: Pick<ServerConfig, "maxSandboxes" | "overcommit" | "warm">;
  readonly placement: Placement;
  readonly sandboxes: Pick<LivingSandboxes, "ofUsers" | "counts">;
  readonly checks: Pick<ServerChecks, "now">;
  readonly recent: RecentWork;
  /** Memory that a sandbox used when it was measured last; undefined before that. */
  readonly memoryOf: (id: SandboxId) => number | undefined;
  readonly warm: { readonly size: number; readonly claims: number };
  /** Settings of the template `base`; undefined if there is none. */
  readonly base: () => Pick<TemplateSpec, "cpuCount" | "memoryMB" | "diskMB"> | undefined;
  readonly clock: Clock;
}

/** What a sandbox has when no template says otherwise. */
const ORDINARY = { cpuCount: 2, memoryMB: 1024, diskMB: 10_240 };

/** The whole server as its operator sees it. */
export class Overview {
  private readonly parts: OverviewParts;
  private readonly startedAt: number;

  constructor(parts: OverviewParts) {
    this.parts = parts;
    this.startedAt = parts.clock.now();
  }

  async state(): Promise<ServerState> {
    const { checks: all, recent, warm, config, placement } = this.parts;
    const [{ checks, verdict, at }, capacities] = await Promise.all([
      all.now(),
      Promise.all(placement.nodes.map(async (node) => ({ node, capacity: await node.driver.capacity() }))),
    ]);
    const sum = (of: (capacity: Capacity) => number) => capacities.reduce((total, { capacity }) => total + Math.max(0, of(capacity)), 0);
    return {
      version: VERSION,
      startedAt: new Date(this.startedAt).toISOString(),
      verdict,
      checkedAt: new Date(at).toISOString(),
      checks: checks.map(({ name, status, found, fix }) => ({ name, status, found, ...(fix !== undefined && { fix }) })),
      sandboxes: this.counts(),
      room: this.room(capacities),
      memoryBytes: { used: sum((one) => one.memoryLimitBytes - one.memoryFreeBytes), total: sum((one) => one.memoryLimitBytes) },
      diskBytes: { used: sum((one) => one.diskLimitBytes - one.diskFreeBytes), total: sum((one) => one.diskLimitBytes) },
      processes: { used: sum((one) => one.processLimit - one.processesFree), total: sum((one) => one.processLimit) },
      createsPerMinute: recent.createsPerMinute(),
      latencies: recent.latencies(),
      warm: { waiting: warm.size, most: config.warm.sandboxes, claims: warm.claims },
      limitsMet: recent.limitsMet().map(({ lastAt, ...met }) => ({ ...met, lastAt: new Date(lastAt).toISOString() })),
    };
  }

  private counts(): ServerState["sandboxes"] {
    const states = this.parts.sandboxes.ofUsers().map(({ state }) => (state === "creating" ? "starting" : visibleState(state)));
    const count = (wanted: string) => states.filter((state) => state === wanted).length;
    return { running: count("running"), paused: count("paused"), starting: count("starting") };
  }

  /** The machines that have room together; what the one with the least of it lacks. */
  private room(capacities: readonly { readonly node: Node; readonly capacity: Capacity }[]): ServerState["room"] {
    const { sandboxes, placement, config, base, memoryOf } = this.parts;
    const spec = base() ?? ORDINARY;
    const size = resourcesFor(spec);
    const places = config.maxSandboxes - sandboxes.counts.places;
    const rooms = capacities.map(({ node, capacity }) => {
      const running = sandboxes
        .ofUsers()
        .filter(({ state, record }) => visibleState(state) === "running" && placement.nodeOf(record) === node);
      const measured = running.flatMap(({ id }) => memoryOf(id) ?? []);
      const memoryEach = measured.reduce((sum, bytes) => sum + bytes, 0) / Math.max(1, measured.length);
      const promised = sandboxes.counts.onNode(node.id);
      return roomFor({ size, capacity, overcommit: config.overcommit, promised, running: running.length, memoryEach, places });
    });
    const most = rooms.reduce((total, { sandboxes: more }) => total + more, 0);
    const least = rooms.reduce((found, one) => (one.sandboxes < found.sandboxes ? one : found));
    const isPlaces = most >= places;
    return {
      sandboxes: Math.max(0, Math.min(most, places)),
      shortOf: isPlaces ? "places" : least.shortOf,
      size: { cpuCount: size.cpuCount, memoryMB: Math.round(size.memoryBytes / MIB), diskSizeMB: Math.round(size.diskBytes / MIB) },
    };
  }
}
