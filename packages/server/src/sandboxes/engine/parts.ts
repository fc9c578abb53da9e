import type { AgentClient } from "@boxyard/agent-client";
import type { Clock, StepObserver } from "@boxyard/core";
import type { ResourceLimits, SandboxDriver } from "@boxyard/driver";
import type { Events } from "../../events.ts";
import type { RouteTable } from "../../proxy/route-table.ts";
import type { Store } from "../../store/index.ts";
import type { Authorities } from "../authorities.ts";
import type { Tokens } from "../tokens.ts";
import type { Sandbox } from "./sandbox.ts";

/** What the engine and the steps of its transitions work with. */
export interface EngineParts {
  readonly store: Store;
  readonly driver: SandboxDriver;
  readonly clock: Clock;
  readonly routes: RouteTable;
  readonly agent: AgentClient;
  readonly tokens: Tokens;
  readonly events: Events;
  readonly authorities: Authorities;
  /** Asked before a paused sandbox starts again. (New sandboxes pass the gate before the engine knows them.) */
  readonly capacity: { start<T>(wanted: ResourceLimits, work: () => Promise<T>, memoryBytes?: number): Promise<T> };
  /** Asked before a request wakes a paused sandbox: `holdPlace` of `Admission`, which needs the engine itself. */
  readonly admission: { holdPlace<T>(sandbox: Sandbox, work: () => Promise<T>): Promise<T> };
  /** Tests inject faults before and after each point of a transition; `pointsOf` names the points. */
  readonly observer?: StepObserver;
}
