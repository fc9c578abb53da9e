import type { SandboxId, TeamId } from "@boxyard/core";
import type { ResourceLimits } from "@boxyard/driver";
import { resourcesOf, type SandboxRecord } from "../../store/index.ts";
import { HOME } from "../placement.ts";

/** What the limits of a team are about: those with a place have processors and memory, and all have disk. */
export interface TeamCount {
  readonly sandboxes: number;
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
}

/** What the sandboxes of a node were promised, those that wait in the pool left out. */
export interface Promised {
  readonly memoryBytes: number;
  readonly diskBytes: number;
}

/** As limits count a sandbox. */
export interface Countable {
  readonly id: SandboxId;
  readonly counted: SandboxRecord;
  /** False while it is paused, and nothing resumes it. */
  readonly hasPlace: boolean;
}

/** As a sandbox was counted last; the record is that of then. */
interface Counted {
  readonly record: SandboxRecord;
  readonly hasPlace: boolean;
}

/** Processors are counted in millionths: sums of fractions would not come back to what they were. */
interface Sum {
  count: number;
  withPlace: number;
  microCpus: number;
  placeMemoryBytes: number;
  memoryBytes: number;
  diskBytes: number;
}

const MICRO = 1_000_000;

/** What limits count of all sandboxes, kept at each change of one: so a create costs the same however many there are. */
export class SandboxCounts {
  private readonly byId = new Map<SandboxId, Counted>();
  private readonly teams = new Map<TeamId, Sum>();
  private readonly nodes = new Map<string, Sum>();
  private withPlace = 0;

  /** Sandboxes of users that have a place. */
  get places(): number {
    return this.withPlace;
  }

  /** `but`: a sandbox that is left out. */
  ofTeam(teamId: TeamId, but?: SandboxId): TeamCount {
    const sum = { ...(this.teams.get(teamId) ?? nothing()) };
    const left = but === undefined ? undefined : this.byId.get(but);
    if (left?.record.owner.kind === "user" && left.record.teamId === teamId) add(sum, left, -1);
    const { withPlace, microCpus, placeMemoryBytes, diskBytes } = sum;
    return { sandboxes: withPlace, cpus: microCpus / MICRO, memoryBytes: placeMemoryBytes, diskBytes };
  }

  onNode(id: string): Promised {
    const { memoryBytes, diskBytes } = this.nodes.get(id) ?? nothing();
    return { memoryBytes, diskBytes };
  }

  /** To be called after each change of what counts of a sandbox. */
  follow({ id, counted: record, hasPlace }: Countable): void {
    const known = this.byId.get(id);
    if (known?.record === record && known.hasPlace === hasPlace) return;
    if (known) this.count(known, -1);
    const counted = { record, hasPlace };
    this.byId.set(id, counted);
    this.count(counted, 1);
  }

  drop(id: SandboxId): void {
    const known = this.byId.get(id);
    if (known) this.count(known, -1);
    this.byId.delete(id);
  }

  private count(counted: Counted, sign: 1 | -1): void {
    const { owner, teamId, facts } = counted.record;
    if (owner.kind !== "pool") addTo(this.nodes, facts.node ?? HOME, counted, sign);
    if (owner.kind !== "user") return;
    addTo(this.teams, teamId, counted, sign);
    if (counted.hasPlace) this.withPlace += sign;
  }
}

const nothing = (): Sum => ({ count: 0, withPlace: 0, microCpus: 0, placeMemoryBytes: 0, memoryBytes: 0, diskBytes: 0 });

const microCpus = ({ cpuCount }: ResourceLimits) => Math.round(cpuCount * MICRO);

function addTo<Key>(sums: Map<Key, Sum>, key: Key, counted: Counted, sign: 1 | -1): void {
  const sum = sums.get(key) ?? nothing();
  add(sum, counted, sign);
  if (sum.count > 0) sums.set(key, sum);
  else sums.delete(key);
}

function add(sum: Sum, { record, hasPlace }: Counted, sign: 1 | -1): void {
  const limits = resourcesOf(record);
  sum.count += sign;
  sum.memoryBytes += sign * limits.memoryBytes;
  sum.diskBytes += sign * limits.diskBytes;
  if (!hasPlace) return;
  sum.withPlace += sign;
  sum.microCpus += sign * microCpus(limits);
  sum.placeMemoryBytes += sign * limits.memoryBytes;
}
