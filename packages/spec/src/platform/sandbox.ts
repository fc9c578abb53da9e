import { z } from "zod";
import { named } from "../openapi.ts";
import { Seconds, StringMap } from "./common.ts";
import { NetworkConfig } from "./network.ts";

export const VolumeMount = z
  .object({
    name: z.string().meta({ description: "Name of the volume" }),
    path: z.string().meta({ description: "Where the sandbox has it: an absolute path" }),
    readOnly: z.boolean().optional().meta({ description: "True: the sandbox can change nothing of it" }),
  })
  .meta(named("SandboxVolumeMount"));

/** What a sandbox can be called: no id of a sandbox, no part of a path or of `SANDBOX:PATH`. */
export const SandboxName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, "must be 1 to 63 letters, digits, '.', '_' and '-', and begin with a letter or digit")
  .refine((text) => !/^i[a-z0-9]{20}$/.test(text), "must not look like the id of a sandbox");

const size = {
  cpuCount: z.number().min(0.1, "must be at least 0.1").optional().meta({ description: "Number of processors; may be a fraction" }),
  memoryMB: z.int().min(128, "must be at least 128").optional(),
  diskSizeMB: z
    .int()
    .min(64, "must be at least 64")
    .optional()
    .meta({ description: "What the sandbox may write beside the template's own files" }),
};
export const SandboxResources = z
  .object(size)
  .refine((wanted) => Object.values(wanted).some((value) => value !== undefined), "must have cpuCount, memoryMB or diskSizeMB")
  .meta(named("SandboxResources"));

const idleSeconds = Seconds.min(1, "must be at least 1");

const newSandbox = {
  templateID: z.string().min(1, "must not be empty").max(512).meta({ description: "Id, name, `name:tag` or `namespace/name[:tag]`" }),
  metadata: StringMap.optional(),
  envVars: StringMap.optional().meta({ description: "Environment of every process of the sandbox" }),
  envSecrets: z
    .record(z.string(), z.string().max(128, "must have at most 128 characters"))
    .refine((secrets) => Object.keys(secrets).length <= 100, "must hold at most 100 entries")
    .optional()
    .meta({ description: "Variables whose values are secrets of the team: the name or id of each (docs/contract/platform.md, Secrets)" }),
  allow_internet_access: z.boolean().optional().meta({ description: "false: nothing leaves the sandbox; true by default" }),
  idleTimeout: idleSeconds.optional().meta({
    description:
      "Its end comes, as at the end of `timeout`, when nothing has used it for so many seconds: no request through the proxy, no output of a command, no work of its processors. The earlier end counts",
  }),
  autoPause: z.boolean().optional(),
  autoPauseMemory: z.boolean().optional(),
  autoResume: z.object({ enabled: z.boolean() }).optional(),
  network: NetworkConfig.optional(),
  mcp: z.record(z.string(), z.unknown()).nullish(),
  iam: z.looseObject({}).optional(),
  volumeMounts: z.array(VolumeMount).optional(),
  resources: SandboxResources.optional().meta({ description: "Its size, where that is not the template's" }),
  name: SandboxName.optional().meta({ description: "A name that no other living sandbox of the team has" }),
};

export const NewSandbox = z
  .object({ ...newSandbox, timeout: Seconds.default(15), secure: z.boolean().default(false) })
  .meta(named("NewSandbox"));
export const NewSandboxV2 = z.object({ ...newSandbox, timeout: Seconds.default(300) }).meta(named("NewSandboxV2"));
/** The body of either version; `secure` is absent in the second one, in which every sandbox is secured. */
export type NewSandbox = Omit<z.infer<typeof NewSandbox>, "secure"> & { readonly secure?: boolean };

const creator = z
  .string()
  .regex(/^[\x21-\x7e]{8,128}$/, "must be 8 to 128 visible characters")
  .meta({ description: "A random word of the client's own: a repeat of its request has the same" });
const leaseSeconds = z
  .int()
  .min(1, "must be from 1 to 3600")
  .max(3600, "must be from 1 to 3600")
  .default(30)
  .meta({ description: "Until when the client has to renew its claim; then the sandbox is removed" });

const { name: _name, ...unnamed } = newSandbox;
export const NewNamedSandbox = z
  .object({
    ...unnamed,
    timeout: Seconds.default(300),
    setup: z
      .object({ creator, leaseSeconds })
      .optional()
      .meta({ description: "The client prepares a sandbox that this request makes, before others get it" }),
  })
  .meta(named("NewNamedSandbox"));
export type NewNamedSandbox = z.infer<typeof NewNamedSandbox>;

export const SandboxSetup = z
  .object({ creator, leaseSeconds, done: z.boolean().default(false).meta({ description: "true: others get the sandbox from now on" }) })
  .meta(named("SandboxSetup"));

export const SandboxUpdate = z
  .object({
    name: z
      .union([z.literal(""), SandboxName])
      .optional()
      .meta({ description: "The new name; empty: none" }),
    idleTimeout: Seconds.optional().meta({ description: "Counted from now; 0: none" }),
  })
  .refine((wanted) => wanted.name !== undefined || wanted.idleTimeout !== undefined, "must have name or idleTimeout")
  .meta(named("SandboxUpdate"));

export const ConnectSandbox = z.object({ timeout: Seconds, memory: z.boolean().optional() }).meta(named("ConnectSandbox"));
export const ConnectSandboxV2 = z.object({ timeout: Seconds.default(300), memory: z.boolean().optional() }).meta(named("ConnectSandboxV2"));
/** Negative values count as 0, as the reference server has it: the sandbox ends now. */
export const SandboxTimeout = z
  .object({ timeout: z.int("must be a whole number of seconds").max(10 * 365 * 24 * 3600, "is too large") })
  .meta(named("SandboxTimeoutRequest"));
export const SandboxRefresh = z.object({ duration: z.int().min(0).max(3600).default(15) }).meta(named("SandboxRefreshRequest"));
export const ResumedSandbox = z
  .object({ timeout: Seconds.default(15), autoPause: z.boolean().optional(), memory: z.boolean().optional() })
  .meta(named("ResumedSandbox"));

const access = {
  templateID: z.string(),
  sandboxID: z.string(),
  clientID: z.string().meta({ description: "Constant, kept for old clients" }),
  envdVersion: z.string(),
  alias: z.string().optional(),
  envdAccessToken: z.string(),
  trafficAccessToken: z.string().optional(),
  domain: z.string().optional(),
  name: z.string().optional().meta({ description: "The sandbox's own name; `alias` is that of its template" }),
};
export const Sandbox = z.object(access).meta(named("Sandbox"));
export type Sandbox = z.infer<typeof Sandbox>;

export const NamedSandbox = z
  .object({
    ...access,
    outcome: z
      .enum(["created", "resumed", "running"])
      .meta({ description: "`created`: this request made the sandbox; `resumed`: this request resumed it" }),
  })
  .meta(named("NamedSandbox"));

const SandboxStateName = z.enum(["running", "paused"]).meta(named("SandboxState"));

const recordFields = {
  templateID: z.string(),
  sandboxID: z.string(),
  clientID: z.string(),
  alias: z.string().optional(),
  name: z.string().optional().meta({ description: "The sandbox's own name; `alias` is that of its template" }),
  startedAt: z.iso.datetime(),
  endAt: z.iso.datetime(),
  idleTimeout: z.number().optional().meta({ description: "After so many seconds without use its end comes; absent: it may be idle" }),
  idleSince: z.iso.datetime().optional().meta({
    description: "When it was used last; only of a running sandbox with `idleTimeout`, and not while a request to it is in flight",
  }),
  idleEndAt: z.iso.datetime().optional().meta({ description: "When it ends if nothing uses it; present when `idleSince` is" }),
  deleteAt: z.iso.datetime().optional().meta({ description: "When a rule of retention deletes it; only of a paused sandbox" }),
  cpuCount: z.number(),
  memoryMB: z.int(),
  diskSizeMB: z.int(),
  metadata: StringMap.optional(),
  volumeMounts: z.array(VolumeMount).optional().meta({ description: "Absent without volumes" }),
  state: SandboxStateName,
  envdVersion: z.string(),
};

export const ListedSandbox = z.object(recordFields).meta(named("ListedSandbox"));
export type ListedSandbox = z.infer<typeof ListedSandbox>;

/** What was used, since the creation of a sandbox or on one day. */
const usageFields = {
  cpuSeconds: z.number(),
  memoryMiBSeconds: z.number().meta({ description: "Memory in use, in MiB, added up over the seconds that it was in use" }),
  runningSeconds: z.number().meta({ description: "Time that it ran, without pauses" }),
  networkReceivedBytes: z.int(),
  networkSentBytes: z.int(),
};
export const Usage = z.object(usageFields).meta(named("Usage"));
export type Usage = z.infer<typeof Usage>;
export const SandboxUsage = z
  .object({
    sandboxID: z.string(),
    ...usageFields,
    endedAt: z.iso.datetime().optional().meta({ description: "When it ended; absent while it has not" }),
    reason: z.string().optional().meta({ description: "Why it ended" }),
  })
  .meta(named("SandboxUsage"));
export const UsageDay = z
  .object({ date: z.iso.date(), sandboxes: z.int().meta({ description: "Sandboxes that were created" }), ...usageFields })
  .meta(named("UsageDay"));
export const TeamUsage = z
  .object({ days: z.array(UsageDay), total: z.object({ sandboxes: z.int(), ...usageFields }) })
  .meta(named("TeamUsage"));
export type TeamUsage = z.infer<typeof TeamUsage>;

export const SandboxDetail = z
  .object({
    ...recordFields,
    envdAccessToken: z.string().optional().meta({ description: "Absent for a key that may only look (scope `read` or `templates`)" }),
    domain: z.string().optional(),
    allowInternetAccess: z.boolean().optional(),
    network: NetworkConfig.optional(),
    health: z
      .literal("unresponsive")
      .optional()
      .meta({ description: "Present only when the sandbox's agent did not answer the last three times that the server asked it" }),
    // Absent in its first seconds.
    usage: Usage.optional(),
    lifecycle: z.object({ autoResume: z.boolean(), onTimeout: z.enum(["kill", "pause"]) }),
    pauseMode: z.enum(["full", "filesystem"]).optional().meta({ description: "What the pause stored; only of a paused sandbox" }),
    pauseCause: z.enum(["requested", "idle", "timeout"]).optional().meta({ description: "Why it was paused; only of a paused sandbox" }),
  })
  .meta(named("SandboxDetail"));
export type SandboxDetail = z.infer<typeof SandboxDetail>;

export const SandboxMetric = z
  .object({
    timestamp: z.iso.datetime(),
    timestampUnix: z.int(),
    cpuCount: z.number(),
    cpuUsedPct: z.number(),
    memUsed: z.int(),
    memTotal: z.int(),
    memCache: z.int(),
    diskUsed: z.int(),
    diskTotal: z.int(),
    networkReceivedBytes: z.int().optional().meta({ description: "Bytes that its network link has brought it since its creation" }),
    networkSentBytes: z.int().optional().meta({ description: "Bytes that it has sent over its network link since its creation" }),
    health: z
      .literal("unresponsive")
      .optional()
      .meta({ description: "Present only when the sandbox's agent did not answer at that time; see `health` of the sandbox" }),
  })
  .meta(named("SandboxMetric"));
export type SandboxMetric = z.infer<typeof SandboxMetric>;

export const SandboxesMetrics = z.object({ sandboxes: z.record(z.string(), SandboxMetric) }).meta(named("SandboxesWithMetrics"));

const metadataFilter = z.string().optional().meta({ description: "`k=v&k2=v2`, each part url-encoded; all must match" });

export const ListV1Query = z.object({ metadata: metadataFilter });
export const ListV2Query = z.object({
  metadata: metadataFilter,
  state: z.string().optional().meta({ description: "List of `running` and `paused`, separated by commas; both by default" }),
  order: z.enum(["asc", "desc"]).default("desc").meta({ description: "Order of the sandboxes by their start" }),
  startedAfter: z.iso.datetime({ offset: true }).optional(),
  template: z.string().optional(),
  limit: z.coerce.number().int().min(1, "must be from 1 to 100").max(100, "must be from 1 to 100").default(100),
  nextToken: z.string().max(512).optional(),
});
export type ListV2Query = z.infer<typeof ListV2Query>;

export const MetricsQuery = z.object({ start: z.coerce.number().int().min(0).optional(), end: z.coerce.number().int().min(0).optional() });
export const ManyMetricsQuery = z.object({ sandbox_ids: z.string().max(4096) });
