import { atOnce } from "@boxyard/core";
import type { ConnectionOptions, LifecycleOptions, MountedVolume, SandboxInfo } from "@boxyard/sdk";
import { Sandboxes } from "@boxyard/sdk/sandboxes";
import { connection, connectionToRead } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { EXIT, usageError } from "../errors.ts";
import { type MountOption, type NetworkChoice, networkOf } from "../options.ts";
import { whileShown } from "../output/progress.ts";
import { table } from "../output/table.ts";
import { bytes, duration, minuteOf } from "../output/units.ts";
import { checkName, resolveSandbox } from "../sandbox-ref.ts";

export interface CreateOptions extends SizeOptions, NetworkChoice {
  readonly timeout: number;
  readonly idleTimeout?: number;
  readonly env?: Record<string, string>;
  readonly envSecret?: Record<string, string>;
  readonly metadata?: Record<string, string>;
  readonly name?: string;
  readonly volume?: Record<string, MountOption>;
  readonly onTimeout?: LifecycleOptions["onTimeout"];
  readonly autoResume?: boolean;
  readonly json?: boolean;
}

export interface ListOptions {
  readonly state?: "running" | "paused";
  readonly metadata?: Record<string, string>;
  readonly template?: string;
  readonly limit?: number;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

export interface KillOptions {
  readonly all?: boolean;
  readonly force?: boolean;
  readonly metadata?: Record<string, string>;
}

/** Sandboxes that are ended at once. */
const KILLS_AT_ONCE = 8;

export async function create(template: string | undefined, options: CreateOptions, context: CliContext): Promise<void> {
  const target = await connection(context);
  const name = options.name === undefined ? {} : { name: checkName(options.name) };
  const { sandboxId } = await Sandboxes.create({
    ...target,
    template: template ?? "base",
    timeoutMs: options.timeout * 1000,
    ...(options.idleTimeout ? { idleTimeoutMs: options.idleTimeout * 1000 } : {}),
    envs: options.env,
    envSecrets: options.envSecret,
    ...name,
    ...(options.cpu || options.memory || options.disk ? { resources: sizeOf(options) } : {}),
    metadata: options.metadata,
    volumes: options.volume,
    lifecycle: { onTimeout: options.onTimeout, autoResume: options.autoResume },
    ...networkOf(options),
  });
  if (options.json) return context.output.json(await Sandboxes.getInfo(sandboxId, target));
  await context.output.line(sandboxId);
}

export async function list(options: ListOptions, context: CliContext): Promise<void> {
  const { state, metadata, template, limit = Number.POSITIVE_INFINITY } = options;
  const filter = { ...(state ? { state: [state] } : {}), metadata, template };
  const found: SandboxInfo[] = [];
  for await (const info of Sandboxes.list({ ...(await connectionToRead(context)), ...filter, limit: Math.min(limit, 100) })) {
    found.push(info);
    if (found.length >= limit) break;
  }
  if (options.json) return context.output.json(found);
  if (options.quiet) return found.length > 0 ? context.output.line(found.map(({ sandboxId }) => sandboxId).join("\n")) : undefined;
  if (found.length === 0) return context.output.note("no sandboxes");
  const now = Date.now();
  const row = (info: SandboxInfo) => [
    info.sandboxId,
    info.sandboxName ?? "-",
    info.name ?? info.templateId,
    info.state,
    duration(now - info.startedAt.getTime()),
    info.state === "running" ? duration((info.idleEndAt ?? info.endAt).getTime() - now) : "-",
    minuteOf(info.deleteAt),
    info.idleSince ? duration(now - info.idleSince.getTime()) : "-",
    `${info.cpuCount}`,
    bytes(info.memoryMB * 1024 * 1024),
    pairs(info.metadata),
  ];
  const head = ["SANDBOX", "NAME", "TEMPLATE", "STATE", "AGE", "ENDS IN", "DELETED AT", "IDLE", "CPUS", "MEMORY", "METADATA"];
  await context.output.line(table([head, ...found.map(row)]));
}

const PAUSE_CAUSES = { requested: "it was asked for", idle: "it was idle for too long", timeout: "its time was up" } as const;

export async function info(text: string, options: { json?: boolean }, context: CliContext): Promise<void> {
  const { id, target } = await named(text, context, connectionToRead);
  const found = await Sandboxes.getInfo(id, target);
  if (options.json) return context.output.json(found);
  const rows = [
    ["sandbox", found.sandboxId],
    ...(found.sandboxName === undefined ? [] : [["name", found.sandboxName]]),
    ["template", found.name ? `${found.name} (${found.templateId})` : found.templateId],
    ["state", found.health ? `${found.state}, unresponsive: its agent no longer answers` : found.state],
    ["started", found.startedAt.toISOString()],
    [found.state === "paused" ? "paused" : "ends", found.endAt.toISOString()],
    ...(found.pauseCause ? [["paused because", PAUSE_CAUSES[found.pauseCause]]] : []),
    ...(found.idleTimeoutMs === undefined ? [] : [["idle timeout", duration(found.idleTimeoutMs)]]),
    ...(found.idleSince ? [["idle since", found.idleSince.toISOString()]] : []),
    ...(found.idleEndAt ? [["ends idle", found.idleEndAt.toISOString()]] : []),
    ...(found.deleteAt ? [["deleted at", found.deleteAt.toISOString()]] : []),
    ...(found.lifecycle ? [["timeout", found.lifecycle.onTimeout + (found.lifecycle.autoResume ? ", auto-resume" : "")]] : []),
    ["cpus", String(found.cpuCount)],
    ["memory", bytes(found.memoryMB * 1024 * 1024)],
    ["disk", bytes(found.diskSizeMB * 1024 * 1024)],
    ...(found.volumes ?? []).map(({ name, path, readOnly }) => ["volume", `${name} at ${path}${readOnly ? ", read-only" : ""}`]),
    ["metadata", pairs(found.metadata)],
    ["agent", found.envdVersion],
  ];
  await context.output.line(table(rows));
}

export async function kill(ids: readonly string[], options: KillOptions, context: CliContext): Promise<void> {
  if ((options.all === true) === ids.length > 0) throw usageError("name the sandboxes to end, or give --all");
  const target = await connection(context);
  const queue = [...ids];
  if (options.all) {
    for await (const { sandboxId } of Sandboxes.list({ ...target, metadata: options.metadata })) queue.push(sandboxId);
    if (queue.length === 0) context.output.note("no sandboxes");
  }
  await atOnce(queue, KILLS_AT_ONCE, async (id) => {
    if (await killOne(id, target)) await context.output.line(id);
    else if (!options.all && !options.force) {
      context.output.note(`no sandbox ${id}`);
      context.exitCode = EXIT.failure;
    }
  });
}

/** False when there is no such sandbox. */
async function killOne(text: string, target: ConnectionOptions): Promise<boolean> {
  try {
    return await Sandboxes.kill(await resolveSandbox(text, target), target);
  } catch (error) {
    if ((error as { reason?: unknown }).reason === "sandbox_not_found") return false;
    throw error;
  }
}

/** Limit for a pause, a resume, a fork or a snapshot: a hundred copies, or much memory, on a slow disk. */
export const STATE_REQUEST_MS = 600_000;

export interface ForkOptions {
  readonly count: number;
  readonly timeout: number;
}

export async function pause(text: string, options: { memory: boolean }, context: CliContext): Promise<void> {
  const { id, target } = await named(text, context);
  const pausing = Sandboxes.pause(id, { ...target, ...(options.memory ? {} : { keepMemory: false }), requestTimeoutMs: STATE_REQUEST_MS });
  const paused = await whileShown(`pausing ${id}`, pausing);
  context.output.note(paused ? `sandbox ${id} is paused` : `sandbox ${id} was paused already`);
}

export async function resume(text: string, options: { timeout: number }, context: CliContext): Promise<void> {
  const { id, target } = await named(text, context);
  const { Sandbox } = await import("@boxyard/sdk");
  const resuming = Sandbox.connect(id, { ...target, timeoutMs: options.timeout * 1000, requestTimeoutMs: STATE_REQUEST_MS });
  await whileShown(`resuming ${id}`, resuming);
  context.output.note(`sandbox ${id} runs`);
}

export async function fork(text: string, options: ForkOptions, context: CliContext): Promise<void> {
  const { id, target } = await named(text, context);
  const { count, timeout: seconds } = options;
  const { Sandbox } = await import("@boxyard/sdk");
  const forking = Sandbox.fork(id, { ...target, count, timeoutMs: seconds * 1000, requestTimeoutMs: STATE_REQUEST_MS });
  for (const { sandbox: copy, error } of await whileShown(`forking ${id}`, forking)) {
    if (copy) await context.output.line(copy.sandboxId);
    else {
      context.output.note(error.message);
      context.exitCode = EXIT.failure;
    }
  }
}

export async function rollback(text: string, snapshotId: string, context: CliContext): Promise<void> {
  const { id, target } = await named(text, context);
  const rolling = Sandboxes.rollback(id, snapshotId, { ...target, requestTimeoutMs: STATE_REQUEST_MS });
  const { volumes } = await whileShown(`rolling ${id} back`, rolling);
  context.output.note(`sandbox ${id} continues from ${snapshotId}`);
  if (volumes.length > 0) context.output.note(`not set back: ${namesOf(volumes)}`);
}

/** Volumes of a sandbox, for a sentence. */
export const namesOf = (volumes: readonly MountedVolume[]): string =>
  volumes.map(({ name, path }) => `volume ${name} at ${path}`).join(", ");

export async function timeout(text: string, seconds: number, context: CliContext): Promise<void> {
  const { id, target } = await named(text, context);
  await Sandboxes.setTimeout(id, seconds * 1000, target);
  context.output.note(`sandbox ${id} ends in ${duration(seconds * 1000)}`);
}

export async function idleTimeout(text: string, seconds: number, context: CliContext): Promise<void> {
  const { id, target } = await named(text, context);
  await Sandboxes.setIdleTimeout(id, seconds === 0 ? undefined : seconds * 1000, target);
  context.output.note(seconds === 0 ? `sandbox ${id} may be idle` : `sandbox ${id} may be idle for ${duration(seconds * 1000)}`);
}

export async function rename(text: string, name: string, context: CliContext): Promise<void> {
  const { id, target } = await named(text, context);
  await Sandboxes.rename(id, name === "" ? "" : checkName(name), target);
  context.output.note(name === "" ? `sandbox ${id} has no name` : `sandbox ${id} has the name ${name}`);
}

/** Processors, MiB of memory and of disk. */
export interface SizeOptions {
  readonly cpu?: number;
  readonly memory?: number;
  readonly disk?: number;
}

const sizeOf = ({ cpu, memory, disk }: SizeOptions) => ({ cpuCount: cpu, memoryMB: memory, diskSizeMB: disk });

export async function resize(text: string, options: SizeOptions, context: CliContext): Promise<void> {
  if (Object.keys(options).length === 0) throw usageError("give --cpu, --memory or --disk");
  const { id, target } = await named(text, context);
  const { cpuCount, memoryMB, diskSizeMB } = await Sandboxes.resize(id, sizeOf(options), target);
  context.output.note(`sandbox ${id} has ${cpuCount} processors, ${memoryMB} MiB of memory and ${diskSizeMB} MiB of disk`);
}

export async function metrics(text: string, options: { json?: boolean }, context: CliContext): Promise<void> {
  const { id, target } = await named(text, context, connectionToRead);
  const samples = await Sandboxes.getMetrics(id, target);
  if (options.json) return context.output.json(samples);
  const last = samples.at(-1);
  if (!last) return context.output.note("no samples yet; the first comes within half a minute of the start");
  const rows = [
    ["at", last.timestamp.toISOString()],
    ["cpu", `${last.cpuUsedPct.toFixed(1)} % of ${last.cpuCount} cores`],
    ["memory", `${bytes(last.memUsed)} of ${bytes(last.memTotal)}`],
    ["cache", bytes(last.memCache)],
    ["disk", `${bytes(last.diskUsed)} of ${bytes(last.diskTotal)}`],
    ["network", `${bytes(last.networkReceivedBytes)} in, ${bytes(last.networkSentBytes)} out`],
    ...(last.health ? [["health", "unresponsive: its agent no longer answers"]] : []),
  ];
  await context.output.line(table(rows));
}

/** The sandbox that a person means, and where it is. */
async function named(
  text: string,
  context: CliContext,
  connect = connection,
): Promise<{ id: string; target: Awaited<ReturnType<typeof connection>> }> {
  const target = await connect(context);
  return { id: await resolveSandbox(text, target), target };
}

function pairs(metadata: Readonly<Record<string, string>>): string {
  const text = Object.entries(metadata).map(([key, value]) => `${key}=${value}`);
  return text.join(" ") || "-";
}
