import type { AgentClient } from "@boxyard/agent-client";
import type { Clock, StepObserver } from "@boxyard/core";
import type { SandboxDriver } from "@boxyard/driver";
import type { EventLog } from "../../event-log.ts";
import type { Metering } from "../../metrics/meters.ts";
import type { Timings } from "../../prometheus/instruments.ts";
import type { RouteTable } from "../../proxy/route-table.ts";
import type { Store } from "../../store/index.ts";
import type { Authorities } from "../authorities.ts";
import type { DriverPolicies } from "../egress/driver-policies.ts";
import type { Placement } from "../placement.ts";
import type { PortLinks } from "../port-links.ts";
import type { Tokens } from "../tokens.ts";
import type { LivingSandboxes } from "./living.ts";
import type { Sandbox } from "./sandbox.ts";

/** Asked before a paused sandbox starts again (`Admission`; a new sandbox is admitted before the engine knows it). */
export interface Resumes {
  /** Runs `work`, for which the sandbox has a place. Throws `resource_exhausted`. */
  holdPlace<T>(sandbox: Sandbox, work: () => Promise<T>): Promise<T>;
  /** Runs `work`, for which the machine has room. `memoryBytes`: what the sandbox takes at once. Throws `unavailable`. */
  start<T>(sandbox: Sandbox, work: () => Promise<T>, memoryBytes?: number): Promise<T>;
}

/** Whether this server may change sandboxes now: the owner among several servers may not while its lease has lapsed. */
export interface Permit {
  readonly isValid: boolean;
  /** Throws `unavailable`, reason `not_owner`. */
  check(): void;
}

/** What the engine works with. */
export interface EngineNeeds {
  readonly store: Store;
  /** Asked for the driver of each sandbox. */
  readonly placement: Pick<Placement, "nodeOf">;
  readonly clock: Clock;
  readonly routes: RouteTable;
  readonly agent: AgentClient;
  readonly tokens: Tokens;
  readonly portLinks: PortLinks;
  readonly events: EventLog;
  readonly authorities: Authorities;
  readonly policies: DriverPolicies;
  /** Every sandbox that is not dead. The engine alone changes it; what limits sandboxes counts them in it. */
  readonly sandboxes: LivingSandboxes;
  readonly admission: Resumes;
  /** Milliseconds that a step may go on after the abort of its transition; a minute by default. */
  readonly stepGraceMs?: number;
  /** Finds use of a sandbox that the proxy does not see; without it only requests count. */
  readonly use?: { isBusy(sandbox: Sandbox): Promise<boolean> };
  /** Measures sandboxes at their end and before their pauses. */
  readonly metering?: Metering;
  /** Told how long transitions and their steps take. */
  readonly timings?: Timings;
  /** Asked before a change begins; without it the server always may. */
  readonly permit?: Permit;
  /** Tests inject faults before and after each point of a transition; `pointsOf` names the points. */
  readonly observer?: StepObserver;
}

/** What the steps of a transition work with: the engine's parts, and the driver that has the sandbox. */
export interface EngineParts extends EngineNeeds {
  readonly driver: SandboxDriver;
}
