import { VERSION } from "@boxyard/core";
import { type Node, type NodeDetail, routes } from "@boxyard/spec/platform";
import type { Credentials } from "../../keys/credentials.ts";
import type { Instruments } from "../../prometheus/instruments.ts";
import type { NodeState, Nodes } from "../../sandboxes/nodes.ts";
import type { Store } from "../../store/index.ts";
import type { Teams } from "../../teams/teams.ts";
import type { Builds } from "../../templates/builds/builds.ts";
import { cancelAll } from "../../templates/builds/cancel-all.ts";
import type { Templates } from "../../templates/templates.ts";
import { json } from "../responses.ts";
import { type Api, mount, type RouteHandler } from "../route.ts";
import { type ObservedTimes, presentListed } from "../sandboxes/present.ts";

/** What the handlers of nodes, and of what an operator ends for a team, use. */
export interface NodeServices {
  readonly credentials: Credentials;
  readonly nodes: Nodes;
  readonly observations: ObservedTimes;
  readonly teams: Teams;
  readonly builds: Builds;
  readonly templates: Templates;
  readonly store: Pick<Store, "templates">;
  readonly instruments: Pick<Instruments, "creates">;
  /** Id of this run of the server. */
  readonly run: string;
}

type HandlerOf<R> = RouteHandler<NodeServices, R>;

const listNodes: HandlerOf<typeof routes.listNodes> = async (_input, services) =>
  json(
    200,
    (await services.nodes.list()).map((state) => presentNode(state, services)),
  );

const getNode: HandlerOf<typeof routes.getNode> = async ({ param }, services) => {
  const state = await services.nodes.get(param("nodeID"));
  const builds = new Set(state.running.flatMap(({ facts }) => facts.buildId ?? []));
  const detail: NodeDetail = {
    ...presentNode(state, services),
    sandboxes: state.running.map((record) => presentListed(record, services)),
    cachedBuilds: [...builds].sort(),
  };
  return json(200, detail);
};

const changeNode: HandlerOf<typeof routes.changeNode> = ({ param }, { nodes }) => nodes.refuseChange(param("nodeID"));

const killTeamSandboxes: HandlerOf<typeof routes.killTeamSandboxes> = async ({ param }, { nodes, teams }) => {
  const { done, failed } = await nodes.killAll((await teams.get(param("team"))).id);
  return json(200, { killedCount: done, failedCount: failed });
};

const cancelTeamBuilds: HandlerOf<typeof routes.cancelTeamBuilds> = async ({ param }, services) => {
  const { done, failed } = await cancelAll(services, (await services.teams.get(param("team"))).id);
  return json(200, { cancelledCount: done, failedCount: failed });
};

/** Members of the published shape that mean nothing on one machine have a text that says so little. */
function presentNode(state: NodeState, { instruments: { creates }, run }: Pick<NodeServices, "instruments" | "run">): Node {
  const { id, memory, disk, allocated } = state;
  return {
    id,
    nodeID: id,
    clusterID: "boxyard",
    serviceInstanceID: run,
    version: VERSION,
    commit: VERSION,
    status: state.isReady ? "ready" : "unhealthy",
    machineInfo: { cpuFamily: "", cpuModel: "", cpuModelName: state.cpuModel, cpuArchitecture: process.arch },
    sandboxCount: state.running.length,
    sandboxStartingCount: state.starting,
    createSuccesses: creates.ok,
    createFails: creates.failed,
    metrics: {
      allocatedCPU: allocated.cpus,
      cpuPercent: state.cpuPercent,
      cpuCount: state.cpuCount,
      allocatedMemoryBytes: allocated.memory,
      memoryUsedBytes: memory.used,
      memoryTotalBytes: memory.total,
      disks: [{ mountPoint: "pool", deviceName: "pool", filesystemType: "btrfs", usedBytes: disk.used, totalBytes: disk.total }],
    },
  };
}

export function mountNodes(app: Api, services: NodeServices): void {
  mount(app, services, routes.listNodes, listNodes);
  mount(app, services, routes.getNode, getNode);
  mount(app, services, routes.changeNode, changeNode);
  mount(app, services, routes.killTeamSandboxes, killTeamSandboxes);
  mount(app, services, routes.cancelTeamBuilds, cancelTeamBuilds);
}
