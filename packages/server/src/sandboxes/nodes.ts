import { availableParallelism, cpus, loadavg } from "node:os";
import { AppError, isAppError, type TeamId } from "@boxyard/core";
import { resourcesOf, type SandboxRecord, type Store } from "../store/index.ts";
import type { LivingSandboxes } from "./engine/living.ts";
import type { Node, Placement } from "./placement.ts";
import type { SandboxService } from "./service.ts";
import { visibleState } from "./visible-state.ts";

interface NodesParts {
  readonly placement: Placement;
  readonly sandboxes: LivingSandboxes;
  readonly service: Pick<SandboxService, "kill">;
  readonly store: Pick<Store, "health">;
}

/** What there is of a node, and what its sandboxes have of it. */
export interface NodeState {
  readonly id: string;
  readonly isReady: boolean;
  readonly cpuCount: number;
  /** Model of the processors, as the kernel names it. */
  readonly cpuModel: string;
  /** Of all processors, 0 to 100. */
  readonly cpuPercent: number;
  readonly memory: { readonly used: number; readonly total: number };
  readonly disk: { readonly used: number; readonly total: number };
  readonly allocated: { readonly cpus: number; readonly memory: number };
  readonly starting: number;
  /** Sandboxes of users that run. */
  readonly running: readonly SandboxRecord[];
}

/** The machines of the server as its operator sees them, and what the operator ends for a team. */
export class Nodes {
  private readonly parts: NodesParts;

  constructor(parts: NodesParts) {
    this.parts = parts;
  }

  /** This machine first. */
  list(): Promise<NodeState[]> {
    return Promise.all(this.parts.placement.nodes.map((node) => this.stateOf(node)));
  }

  /** Throws `not_found`. */
  async get(id: string): Promise<NodeState> {
    return this.stateOf(this.find(id));
  }

  /** Refuses a change of a node's status. Throws `not_found`, else `unimplemented`, reason `nodes_do_not_drain`. */
  refuseChange(id: string): never {
    this.find(id);
    throw new AppError(
      "unimplemented",
      "This server has one machine, and no other that could take its sandboxes: stop it with `boxyard down`",
      {
        reason: "nodes_do_not_drain",
      },
    );
  }

  /** Ends all sandboxes of a team, paused ones too, and says how many have ended. One that ends meanwhile counts as neither. */
  async killAll(teamId: TeamId): Promise<{ done: number; failed: number }> {
    const { sandboxes, service } = this.parts;
    const ended = await Promise.allSettled(sandboxes.ofTeam(teamId).map(({ id }) => service.kill(teamId, id)));
    const done = ended.filter(({ status }) => status === "fulfilled").length;
    const gone = ended.filter((end) => end.status === "rejected" && isAppError(end.reason, "sandbox_not_found")).length;
    return { done, failed: ended.length - done - gone };
  }

  private find(id: string): Node {
    const node = this.parts.placement.nodes.find((other) => other.id === id);
    if (node) return node;
    throw new AppError("not_found", `There is no node '${id.slice(0, 100)}'`, { reason: "node_not_found" });
  }

  private async stateOf(node: Node): Promise<NodeState> {
    const { placement, sandboxes, store } = this.parts;
    const capacity = await node.driver.capacity();
    const here = sandboxes.ofUsers().filter(({ record }) => placement.nodeOf(record) === node);
    const running = here.map(({ record }) => record).filter(({ state }) => visibleState(state) === "running");
    const resources = running.map(resourcesOf);
    return {
      id: node.id,
      isReady: store.health.trouble === undefined,
      cpuCount: availableParallelism(),
      cpuModel: cpus()[0]?.model ?? "unknown",
      cpuPercent: Math.min(100, (100 * (loadavg()[0] ?? 0)) / availableParallelism()),
      memory: { total: capacity.memoryLimitBytes, used: Math.max(0, capacity.memoryLimitBytes - capacity.memoryFreeBytes) },
      disk: { total: capacity.diskLimitBytes, used: Math.max(0, capacity.diskLimitBytes - capacity.diskFreeBytes) },
      allocated: { cpus: sum(resources.map(({ cpuCount }) => cpuCount)), memory: sum(resources.map(({ memoryBytes }) => memoryBytes)) },
      starting: here.filter(({ state }) => state === "creating").length,
      running,
    };
  }
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
