import { AppError } from "@boxyard/core";
import type { SandboxDriver, SandboxHandle } from "@boxyard/driver";
import type { SandboxRecord } from "../store/index.ts";

/** A machine on which sandboxes can be, and the driver that works there. */
export interface Node {
  /** The name under which records have it. */
  readonly id: string;
  readonly driver: SandboxDriver;
}

/** A sandbox as the driver of a node lists it. */
export interface PlacedHandle extends SandboxHandle {
  readonly node: string;
}

/** Chooses the node of a new sandbox. */
export type Choose = (record: SandboxRecord, nodes: readonly [Node, ...Node[]]) => Node;

/** The name of the server's own machine, for records too, which have none then. */
export const HOME = "home";

/**
 * Where sandboxes are: on which node a new one is made, and which driver has one that exists. The first node is the server's own machine. It has the
 * templates' layers, snapshots and volumes, and so the sandboxes of builds. Today it is the only node: another one needs no change of what asks this.
 */
export class Placement {
  readonly nodes: readonly [Node, ...Node[]];
  private readonly choose: Choose;
  private readonly byId: ReadonlyMap<string, Node>;

  /** `choose`: the first node by default. */
  constructor(nodes: readonly [Node, ...Node[]], choose: Choose = (_record, [home]) => home) {
    this.nodes = nodes;
    this.choose = choose;
    this.byId = new Map(nodes.map((node) => [node.id, node]));
  }

  /** The record of a new sandbox with its node. A record that has one keeps it: a copy is made where its source is. */
  place(record: SandboxRecord): SandboxRecord {
    const [home] = this.nodes;
    if (record.facts.node !== undefined || record.owner.kind !== "user") return record;
    const { id } = this.choose(record, this.nodes);
    return id === home.id ? record : { ...record, facts: { ...record.facts, node: id } };
  }

  /** The node of a record. Throws `failed_precondition`, reason `unknown_node`, for a node that this server does not have. */
  nodeOf({ facts }: Pick<SandboxRecord, "facts">): Node {
    return this.node(facts.node);
  }

  /** The driver of a sandbox that may have no record. Throws as `nodeOf`. */
  driverOf({ node }: PlacedHandle): SandboxDriver {
    return this.node(node).driver;
  }

  /** The sandboxes of all nodes. */
  async list(): Promise<PlacedHandle[]> {
    const listed = this.nodes.map(async ({ id, driver }) => (await driver.list()).map((handle) => ({ ...handle, node: id })));
    return (await Promise.all(listed)).flat();
  }

  /** The snapshots of all nodes. */
  readonly snapshots: Pick<SandboxDriver["snapshots"], "list" | "remove"> = {
    list: async () => (await Promise.all(this.nodes.map(({ driver }) => driver.snapshots.list()))).flat(),
    // No other node has it: the removal of what is not there succeeds.
    remove: async (id) => void (await Promise.all(this.nodes.map(({ driver }) => driver.snapshots.remove(id)))),
  };

  private node(id: string | undefined): Node {
    const node = id === undefined ? this.nodes[0] : this.byId.get(id);
    if (node) return node;
    throw new AppError("failed_precondition", `This server has no node '${id}'; start it with that node`, { reason: "unknown_node" });
  }
}
