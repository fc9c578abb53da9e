import { ENVD_VERSION } from "@boxyard/spec";
import type { ListedSandbox, Sandbox, SandboxDetail } from "@boxyard/spec/platform";
import { presentEgressProxy } from "../../sandboxes/egress/upstream-proxy.ts";
import type { Observations } from "../../sandboxes/observations.ts";
import { sandboxNotFound } from "../../sandboxes/problems.ts";
import { visibleState } from "../../sandboxes/visible-state.ts";
import {
  type NetworkRules,
  type NetworkSecret,
  resourcesOf,
  type SandboxFacts,
  type SandboxRecord,
  type SandboxSettings,
} from "../../store/index.ts";
import { presentUsage } from "../metrics/present.ts";
import type { SandboxServices } from "./services.ts";

/** The same for all sandboxes; old clients require the field. */
const CLIENT_ID = "boxyard";

/** What create and connect answer. Members without a value are omitted, never null. */
export function presentSandbox(record: SandboxRecord, { tokens, config }: SandboxServices): Sandbox {
  return {
    templateID: record.templateId,
    sandboxID: record.id,
    clientID: CLIENT_ID,
    envdVersion: ENVD_VERSION,
    alias: record.facts.alias,
    envdAccessToken: tokens.access(record.id),
    ...(record.settings.allowPublicTraffic ? {} : { trafficAccessToken: tokens.traffic(record.id) }),
    ...(config.domain === undefined ? {} : { domain: config.domain }),
    ...(record.name !== undefined && { name: record.name }),
  };
}

/** What is known of a sandbox's ends. */
export type ObservedTimes = Pick<Observations, "idleTimesOf" | "deletionOf">;

/** Throws `not_found` for a sandbox that clients cannot see. */
export function presentListed(record: SandboxRecord, { observations }: { readonly observations: ObservedTimes }): ListedSandbox {
  const { facts, settings } = record;
  const resources = resourcesOf(record);
  const state = visibleState(record.state);
  if (state === undefined) throw sandboxNotFound(record.id);
  const idle = observations.idleTimesOf(record.id);
  const deleteAt = state === "paused" ? observations.deletionOf("paused", record.id) : undefined;
  return {
    templateID: record.templateId,
    sandboxID: record.id,
    clientID: CLIENT_ID,
    alias: facts.alias,
    ...(record.name !== undefined && { name: record.name }),
    startedAt: new Date(record.startedAt ?? record.createdAt).toISOString(),
    endAt: new Date(record.endAt).toISOString(),
    ...(idle && { idleTimeout: idle.timeoutMs / 1000 }),
    ...(idle?.since !== undefined && { idleSince: new Date(idle.since).toISOString() }),
    ...(idle?.endAt !== undefined && { idleEndAt: new Date(idle.endAt).toISOString() }),
    ...(deleteAt !== undefined && { deleteAt: new Date(deleteAt).toISOString() }),
    cpuCount: resources.cpuCount,
    memoryMB: Math.round(resources.memoryBytes / 2 ** 20),
    diskSizeMB: Math.round(resources.diskBytes / 2 ** 20),
    metadata: settings.metadata,
    ...presentVolumes(facts.volumes),
    state,
    envdVersion: ENVD_VERSION,
  };
}

/** Nothing without volumes. */
export const presentVolumes = (volumes: SandboxFacts["volumes"]): Pick<ListedSandbox, "volumeMounts"> =>
  volumes ? { volumeMounts: volumes.map(({ name, path, readOnly }) => ({ name, path, ...(readOnly && { readOnly }) })) } : {};

/** `mayUse`: the caller may use the sandbox, and not look at it alone, so the answer has the token of its agent. */
export function presentDetail(record: SandboxRecord, mayUse: boolean, services: SandboxServices): SandboxDetail {
  const { tokens, config, observations } = services;
  const { settings } = record;
  const usage = observations.usageOf(record);
  return {
    ...presentListed(record, services),
    ...(mayUse && { envdAccessToken: tokens.access(record.id) }),
    ...(config.domain === undefined ? {} : { domain: config.domain }),
    allowInternetAccess: settings.egress.internetAccess,
    ...(observations.isUnresponsive(record.id) && { health: "unresponsive" as const }),
    ...(usage && { usage: presentUsage(usage) }),
    network: {
      allowPublicTraffic: settings.allowPublicTraffic,
      ...(settings.maskRequestHost === undefined ? {} : { maskRequestHost: settings.maskRequestHost }),
      ...(settings.httpsPorts && { httpsPorts: [...settings.httpsPorts] }),
      ...presentLists(settings),
      ...(settings.egress.dnsServers && { dnsServers: [...settings.egress.dnsServers] }),
      ...(settings.rules && { rules: presentRules(settings.rules) }),
      ...(settings.secrets && { secrets: presentSecrets(settings.secrets) }),
      ...(settings.egressProxy && { egressProxy: presentEgressProxy(settings.egressProxy) }),
      ...settings.recording,
    },
    lifecycle: { autoResume: settings.lifecycle?.wakes ?? false, onTimeout: settings.lifecycle?.pauseAs ? "pause" : "kill" },
    // How a sandbox was paused is known only once the pause has ended.
    ...(record.state !== "pausing" &&
      visibleState(record.state) === "paused" &&
      settings.pauseMode && {
        pauseMode: settings.pauseMode,
        ...(settings.pauseCause && { pauseCause: settings.pauseCause }),
      }),
  };
}

/** The lists as they were given, without what a preset has added to them. */
function presentLists({ preset, egress }: SandboxSettings): Pick<PresentedNetwork, "preset" | "allowOut" | "denyOut"> {
  const { allowOut, denyOut } = preset ?? egress;
  return {
    ...(preset && { preset: preset.name }),
    ...(allowOut && { allowOut: [...allowOut] }),
    ...(denyOut && { denyOut: [...denyOut] }),
  };
}

type PresentedNetwork = NonNullable<SandboxDetail["network"]>;
type PresentedRules = NonNullable<PresentedNetwork["rules"]>;
type PresentedSecrets = NonNullable<PresentedNetwork["secrets"]>;

/** A copy, because a record is read-only. */
const presentSecrets = (secrets: readonly NetworkSecret[]): PresentedSecrets => structuredClone(secrets) as PresentedSecrets;
const presentRules = (rules: NetworkRules): PresentedRules => structuredClone(rules) as PresentedRules;
