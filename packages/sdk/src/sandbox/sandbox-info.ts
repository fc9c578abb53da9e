import type * as wire from "@boxyard/spec/platform-types";
import { text, texts, unchecked } from "../connection/unchecked.ts";
import { BoxyardError } from "../errors.ts";
import { type MountedVolume, mountFromJson } from "../volumes/volume-types.ts";

/** A paused sandbox keeps its files and, unless it was paused with `keepMemory: false`, its memory and processes. `Sandbox.connect` resumes it. */
export type SandboxState = "running" | "paused";

export interface SandboxInfo {
  readonly sandboxId: string;
  readonly templateId: string;
  /** Name of the template, if it has one. */
  readonly name?: string;
  /** The sandbox's own name, if it has one. */
  readonly sandboxName?: string;
  readonly state: SandboxState;
  readonly startedAt: Date;
  /** End of the lifetime; for a paused sandbox, the time of the pause. */
  readonly endAt: Date;
  /** For how many milliseconds it may be idle; absent: for all its lifetime. */
  readonly idleTimeoutMs?: number;
  /** When it was used last; absent without `idleTimeoutMs`, while a request to it is in flight, and while it does not run. */
  readonly idleSince?: Date;
  /** When it ends if nothing uses it; present when `idleSince` is. */
  readonly idleEndAt?: Date;
  /** When a rule of retention deletes it; only of a paused sandbox. */
  readonly deleteAt?: Date;
  readonly cpuCount: number;
  readonly memoryMB: number;
  readonly diskSizeMB: number;
  readonly metadata: Readonly<Record<string, string>>;
  /** Its volumes; absent without. */
  readonly volumes?: readonly MountedVolume[];
  /** Version of the agent. */
  readonly envdVersion: string;
  /** What happens at the end of the lifetime, and whether a request resumes the paused sandbox. Only `getInfo` returns it. */
  readonly lifecycle?: { readonly onTimeout: "kill" | "pause"; readonly autoResume: boolean };
  /** Set if the sandbox runs and its agent no longer answers. Only `getInfo` returns it. */
  readonly health?: "unresponsive";
  /** Why it was paused. Only `getInfo` returns it, of a paused sandbox. */
  readonly pauseCause?: "requested" | "idle" | "timeout";
}

/** A sample of a sandbox's CPU, memory and disk use. Sizes are in bytes. */
export interface SandboxMetrics {
  readonly timestamp: Date;
  readonly cpuCount: number;
  /** 100: all processors of the sandbox are fully used. */
  readonly cpuUsedPct: number;
  readonly memUsed: number;
  readonly memTotal: number;
  readonly memCache: number;
  readonly diskUsed: number;
  readonly diskTotal: number;
  /** Bytes that came in and went out over the sandbox's network link since its creation; 0 from a server that does not count them. */
  readonly networkReceivedBytes: number;
  readonly networkSentBytes: number;
  /** Set if the sandbox's agent did not answer at that time. */
  readonly health?: "unresponsive";
}

/** What a server says about a sandbox that may be used now. */
export interface SandboxAccess {
  readonly sandboxId: string;
  readonly envdVersion: string;
  readonly accessToken: string | undefined;
  readonly domain: string | undefined;
  readonly trafficAccessToken: string | undefined;
}

/** An event of a sandbox. */
export interface SandboxLogEntry {
  readonly timestamp: Date;
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  /** For programs, e.g. `event` (`started`, `ended`) and the `cause` of an end. `logger` is `boxyard` for the server's word, `guest` for the sandbox's own. */
  readonly fields: Readonly<Record<string, string>>;
}

/** A snapshot: a stored state of a sandbox. `Sandbox.create(snapshotId)` creates a sandbox from it. */
export interface SnapshotInfo {
  readonly snapshotId: string;
  /** Full names; empty if the snapshot has no name. */
  readonly names: readonly string[];
  /** The sandbox that it was made of, which may have ended. This and the next are absent in answers of servers of earlier versions. */
  readonly sandboxId?: string;
  readonly createdAt?: Date;
  /** What it holds of memory and disk beside the layers of its template; absent where that is not known. */
  readonly sizeBytes?: number;
  /** When a rule of retention deletes it. */
  readonly deleteAt?: Date;
  /** Volumes of its sandbox, whose files it does not keep: a rollback to it leaves them as they are then. Absent without. */
  readonly volumes?: readonly MountedVolume[];
}

/** What a rollback has left as it was. */
export interface RollbackResult {
  /** Volumes of the sandbox: their files are as before the rollback. */
  readonly volumes: readonly MountedVolume[];
}

function required<T>(value: T | undefined, field: string): T {
  if (value !== undefined) return value;
  const message = `the server's answer has no ${field}; is there a Boxyard server at this URL?`;
  throw new BoxyardError(message, { code: "internal", reason: "protocol_error" });
}

export function accessFromJson(value: unknown): SandboxAccess {
  const json = unchecked<wire.Sandbox>(value);
  return {
    sandboxId: required(text(json.sandboxID), "sandboxID"),
    envdVersion: required(text(json.envdVersion), "envdVersion"),
    accessToken: text(json.envdAccessToken),
    domain: text(json.domain),
    trafficAccessToken: text(json.trafficAccessToken),
  };
}

export function snapshotFromJson(value: unknown): SnapshotInfo {
  const json = unchecked<wire.SnapshotInfo>(value);
  const snapshotId = required(text(json.snapshotID), "snapshotID");
  const sandboxId = text(json.sandboxID);
  const { sizeBytes } = json;
  return {
    snapshotId,
    names: texts(json.names),
    ...(sandboxId !== undefined && { sandboxId }),
    ...dateOf("createdAt", json.createdAt),
    ...(typeof sizeBytes === "number" && { sizeBytes }),
    ...dateOf("deleteAt", json.deleteAt),
    ...volumesOf(json),
  };
}

export const rollbackFromJson = (value: unknown): RollbackResult => ({
  volumes: [],
  ...volumesOf(unchecked<wire.SandboxRollbackResult>(value)),
});

const volumesOf = ({ volumeMounts }: { readonly volumeMounts?: unknown }): { readonly volumes?: readonly MountedVolume[] } =>
  Array.isArray(volumeMounts) ? { volumes: volumeMounts.map(mountFromJson) } : {};

export function infoFromJson(value: unknown): SandboxInfo {
  const json = unchecked<wire.ListedSandbox & Pick<wire.SandboxDetail, "health" | "lifecycle" | "pauseCause">>(value);
  const alias = text(json.alias);
  const own = text(json.name);
  return {
    sandboxId: required(text(json.sandboxID), "sandboxID"),
    templateId: required(text(json.templateID), "templateID"),
    ...(alias === undefined ? {} : { name: alias }),
    ...(own === undefined ? {} : { sandboxName: own }),
    state: json.state === "paused" ? "paused" : "running",
    startedAt: new Date(required(text(json.startedAt), "startedAt")),
    endAt: new Date(required(text(json.endAt), "endAt")),
    ...(typeof json.idleTimeout === "number" && { idleTimeoutMs: json.idleTimeout * 1000 }),
    ...dateOf("idleSince", json.idleSince),
    ...dateOf("idleEndAt", json.idleEndAt),
    ...dateOf("deleteAt", json.deleteAt),
    cpuCount: Number(json.cpuCount ?? 0),
    memoryMB: Number(json.memoryMB ?? 0),
    diskSizeMB: Number(json.diskSizeMB ?? 0),
    metadata: (json.metadata ?? {}) as Record<string, string>,
    ...volumesOf(json),
    envdVersion: text(json.envdVersion) ?? "",
    ...(json.lifecycle ? { lifecycle: lifecycleFromJson(json.lifecycle) } : {}),
    ...(json.health === "unresponsive" && { health: "unresponsive" }),
    ...causeOf(text(json.pauseCause)),
  };
}

const dateOf = (name: string, value: unknown) => {
  const at = text(value);
  return at === undefined ? {} : { [name]: new Date(at) };
};

const causeOf = (cause: string | undefined): Pick<SandboxInfo, "pauseCause"> =>
  cause === "requested" || cause === "idle" || cause === "timeout" ? { pauseCause: cause } : {};

function lifecycleFromJson(value: unknown): NonNullable<SandboxInfo["lifecycle"]> {
  const json = unchecked<wire.SandboxDetail["lifecycle"]>(value);
  return { onTimeout: json.onTimeout === "pause" ? "pause" : "kill", autoResume: json.autoResume === true };
}

export function metricsFromJson(value: unknown): SandboxMetrics {
  const json = unchecked<wire.SandboxMetric>(value);
  const number = (field: keyof wire.SandboxMetric) => Number(json[field] ?? 0);
  const seconds = json.timestampUnix;
  return {
    timestamp: typeof seconds === "number" ? new Date(seconds * 1000) : new Date(required(text(json.timestamp), "timestamp")),
    cpuCount: number("cpuCount"),
    cpuUsedPct: number("cpuUsedPct"),
    memUsed: number("memUsed"),
    memTotal: number("memTotal"),
    memCache: number("memCache"),
    diskUsed: number("diskUsed"),
    diskTotal: number("diskTotal"),
    networkReceivedBytes: number("networkReceivedBytes"),
    networkSentBytes: number("networkSentBytes"),
    ...(json.health === "unresponsive" && { health: "unresponsive" }),
  };
}

export function logFromJson(value: unknown): SandboxLogEntry {
  const json = unchecked<wire.SandboxLogEntry>(value);
  const level = json.level === "debug" || json.level === "warn" || json.level === "error" ? json.level : "info";
  return {
    timestamp: new Date(required(text(json.timestamp), "timestamp")),
    level,
    message: text(json.message) ?? "",
    fields: (json.fields ?? {}) as Record<string, string>,
  };
}
