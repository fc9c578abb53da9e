import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { AppError } from "@boxyard/core";
import { SETTINGS, type SettingName } from "@boxyard/spec/config";
import { isLimitName, LIMIT_NAMES, type LimitName } from "@boxyard/spec/platform";
import { z } from "zod";
import { replicasOf, tlsOf } from "./config-connections.ts";
import { list, listedHosts, pairsOf } from "./config-lists.ts";
import { isNetwork } from "./networks.ts";
import { otlpHeaders } from "./otlp-headers.ts";
import type { ProxySettings } from "./registry-hosts.ts";
import { shownTexts } from "./shown-texts.ts";

/** By which factor the limits of all sandboxes together may exceed what the machine has of a resource; at least 1. */
export interface Overcommit {
  readonly memory: number;
  readonly disk: number;
}

/** Effective settings of the server. */
export interface ServerConfig {
  readonly dataDir: string;
  readonly listen: { readonly hostname: string; readonly port: number };
  /** Where it listens for TLS beside that, and the files of its certificate and its key; undefined: nowhere. */
  readonly tls: ({ readonly cert: string; readonly key: string } & ServerConfig["listen"]) | undefined;
  /** Domain of the wildcard names of sandboxes, if one is configured. */
  readonly domain: string | undefined;
  /** Address under which clients reach this server, without a slash at the end, if one is configured. */
  readonly publicUrl: string | undefined;
  /** Clients and sandboxes whose kernel acknowledges nothing for so long count as lost. */
  readonly peerTimeoutSeconds: number;
  readonly logLevel: string;
  readonly logFormat: "auto" | "text" | "json";
  /** Size of `server.log` in MiB at which it is rotated. */
  readonly logMaxMib: number;
  /** Number of files that are kept of `server.log`, with the current one. */
  readonly logFiles: number;
  /** File of the access log, if there is one. */
  readonly accessLog: string | undefined;
  /** Where spans go, if they are wanted. */
  readonly traces: { readonly endpoint: string; readonly headers: Readonly<Record<string, string>> } | undefined;
  readonly maxSandboxes: number;
  /** Size of a volume for which none is asked, in MiB. */
  readonly volumeMB: number;
  /** How many recordings of exchanges a team may have, and bounds of each. */
  readonly recordings: { readonly most: number; readonly maxBytes: number; readonly maxExchanges: number };
  /** By how much the limits of all sandboxes together may exceed the memory and the disk of the machine, as factors. */
  readonly overcommit: Overcommit;
  /** The most sandboxes that wait for creates, and the memory that they may use together. */
  readonly warm: { readonly sandboxes: number; readonly memoryBytes: number; readonly least: number };
  readonly maxCreates: number;
  readonly maxQueuedCreates: number;
  /** How long a create waits until the machine has room for it. */
  readonly roomWaitSeconds: number;
  /** Limits of each team for which the operator has set no others. */
  readonly teamLimits: LimitValues;
  /** Seconds between two health checks of an agent; 0: none. */
  readonly probeSeconds: number;
  /** Percent of one processor above which a sandbox is not idle. */
  readonly idleCpuPercent: number;
  readonly onUnresponsive: "none" | "kill" | "restart";
  /** Minutes for which sandboxes that the store does not know are kept. */
  readonly orphanMinutes: number;
  /** Whether templates with a start command start from the memory that their builds keep. */
  readonly startsFromMemory: boolean;
  readonly maxBuilds: number;
  /** Limit of the layers that only the build cache refers to, in MiB. */
  readonly maxBuildCacheMib: number;
  /** Limit of the uploaded files of one team, in MiB. */
  readonly maxBuildFilesMib: number;
  /** `HOST[:PORT][/PREFIX]` where images are looked for whose names have no registry. */
  readonly registry: string | undefined;
  /** Registries that may have addresses that are not public: `[http://]HOST[:PORT]`. */
  readonly privateRegistries: readonly string[];
  /** Hosts of other sites that may give tokens, by registry. */
  readonly tokenServers: Readonly<Record<string, readonly string[]>>;
  /** The machine's proxy. Its addresses may hold passwords: never printed. */
  readonly proxy: ProxySettings;
  /** Whether builds use the machine's package sources, proxies and certificate authorities. */
  readonly buildSettings: "machine" | "none";
  /** Certificate authorities of sandboxes: `machine`, `none`, or the path of a PEM file or of a directory of PEM files. */
  readonly authorities: string;
  /** Who may read `GET /metrics`: holders of an API key, everybody, or nobody. */
  readonly metrics: "key" | "open" | "off";
  /** Receivers of webhooks that may have addresses that are not public: `[http://]HOST[:PORT]`. */
  readonly webhookHosts: readonly string[];
  /** Addresses and networks of proxies whose `X-Forwarded-For` tells the address of a client. */
  readonly trustedProxies: readonly string[];
  /** PostgreSQL address; SQLite in the data directory without one. Holds a password: never printed. */
  readonly databaseUrl: string | undefined;
  /** HOST:PORT at which the other servers on the database reach this one; undefined: there are no others. */
  readonly replicaAddress: string | undefined;
  /** The name that the certificates of the other servers are for, and the file of the authority that has signed them. */
  readonly replicaTls: { readonly serverName: string; readonly ca?: string } | undefined;
  /** The texts of the variables that are set, by name; of one that may hold a password only that it is set. */
  readonly given: Readonly<Partial<Record<SettingName, string>>>;
}

export type Environment = Readonly<Record<string, string | undefined>>;

const count = (min: number) => z.coerce.number("must be a number").int("must be a whole number").min(min, `must be at least ${min}`);

function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && url.href === `${url.origin}/`;
}
const factor = z.coerce.number("must be a number").min(1, "must be at least 1");

/** The variables of proxies, in upper or lower case, as other programs read them. */
function proxyOf(env: Environment): ProxySettings {
  const read = (name: string) => env[name] || env[name.toLowerCase()] || undefined;
  const [https, http] = [read("HTTPS_PROXY"), read("HTTP_PROXY")];
  return { ...(https && { https }), ...(http && { http }), noProxy: read("NO_PROXY") ?? "" };
}

type LimitValues = Readonly<Record<LimitName, number>>;

/** Limits of a team that keep a mistake or a bad tenant from taking the whole machine, and stop nobody else. */
const DEFAULT_LIMITS = {
  ...{ sandboxes: 2000, cpus: 16_000, memoryMB: 16 << 20, diskMB: 2 ** 40, templates: 10_000, createsPerMinute: 60_000 },
} as const;

/** `sandboxes=20,cpus=8`; undefined for other text. */
function parseLimits(text: string): Partial<Record<LimitName, number>> | undefined {
  const limits: Partial<Record<LimitName, number>> = {};
  for (const entry of text.split(",").map((part) => part.trim())) {
    if (entry === "") continue;
    const [, name = "", value = ""] = /^(\w+) *= *(\d{1,13})$/.exec(entry) ?? [];
    if (!isLimitName(name)) return undefined;
    limits[name] = Number(value);
  }
  return limits;
}

function addressAndPort(text: string, context: z.RefinementCtx): { hostname: string; port: number } {
  const [, hostname = "", port = ""] = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]+):(\d{1,5})$/.exec(text) ?? [];
  if (hostname === "" || Number(port) > 65535)
    context.addIssue({ code: "custom", message: "must be ADDRESS:PORT, such as 127.0.0.1:3000" });
  return { hostname: hostname.replace(/^\[|\]$/g, ""), port: Number(port) };
}

const Env = z.object({
  BOXYARD_DATA: z.string().default("/var/lib/boxyard"),
  BOXYARD_LISTEN: z.string().default("127.0.0.1:3000").transform(addressAndPort),
  BOXYARD_TLS_LISTEN: z.string().default("0.0.0.0:443").transform(addressAndPort),
  BOXYARD_TLS_CERT: z.string().optional(),
  BOXYARD_TLS_KEY: z.string().optional(),
  BOXYARD_DOMAIN: z
    .string()
    .regex(/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:\d{1,5})?$/, "must be a host name, with a port if need be")
    .optional(),
  BOXYARD_PUBLIC_URL: z
    .url({ protocol: /^https?$/, error: "must be an address such as https://boxyard.example" })
    .refine((text) => isOrigin(text), "must be a scheme and a host, with a port if need be, and nothing behind it")
    .transform((text) => new URL(text).origin)
    .optional(),
  BOXYARD_PEER_TIMEOUT_SECONDS: count(3).max(7200, "must be at most 7200").default(60),
  BOXYARD_LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error", "silent"]).default("info"),
  BOXYARD_LOG_FORMAT: z.enum(["auto", "text", "json"]).default("auto"),
  BOXYARD_LOG_MAX_MIB: count(1).default(10),
  BOXYARD_LOG_FILES: count(1).max(100, "must be at most 100").default(5),
  BOXYARD_ACCESS_LOG: z
    .string()
    .refine((text) => text === "off" || text.startsWith("/"), "must be off or the path of a file, from / on")
    .default("off"),
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url({ protocol: /^https?$/, error: "must be an address such as http://localhost:4318" }).optional(),
  OTEL_EXPORTER_OTLP_HEADERS: z.string().transform(otlpHeaders).default({}),
  BOXYARD_MAX_SANDBOXES: count(1).default(2000),
  BOXYARD_VOLUME_MB: count(1).default(10_240),
  BOXYARD_RECORDINGS: count(1).max(100_000, "must be at most 100000").default(100),
  BOXYARD_RECORDING_MB: count(1).max(65_536, "must be at most 65536").default(256),
  BOXYARD_RECORDING_EXCHANGES: count(1).max(1_000_000, "must be at most 1000000").default(10_000),
  BOXYARD_MEMORY_OVERCOMMIT: factor.default(64),
  BOXYARD_DISK_OVERCOMMIT: factor.default(256),
  BOXYARD_WARM_SANDBOXES: count(0).default(16),
  BOXYARD_WARM_LEAST: count(1).default(1),
  BOXYARD_WARM_MEMORY: z
    .string()
    .regex(/^\d{1,7}[KMGT]?$/, "must be a number of bytes, or one with K, M, G or T, such as 512M")
    .default("512M")
    .transform((text) => Number.parseInt(text, 10) * 1024 ** "BKMGT".indexOf(/[KMGT]$/.exec(text)?.[0] ?? "B")),
  BOXYARD_MAX_CREATES: count(1).default(Math.max(4, availableParallelism() * 2)),
  BOXYARD_MAX_QUEUED_CREATES: count(0).default(1000),
  BOXYARD_ROOM_WAIT_SECONDS: count(0).max(25, "must be at most 25").default(0),
  BOXYARD_MAX_TIMEOUT_HOURS: count(1).max(8760, "must be at most 8760").default(24),
  BOXYARD_TEAM_LIMITS: z
    .string()
    .default("")
    .transform((text, context) => {
      const limits = parseLimits(text);
      if (!limits)
        context.addIssue({ code: "custom", message: `must be NAME=NUMBER, separated by commas; the names are ${LIMIT_NAMES.join(", ")}` });
      return limits ?? {};
    }),
  BOXYARD_PROBE_SECONDS: count(0).default(30),
  BOXYARD_IDLE_CPU_PERCENT: count(0).max(100, "must be at most 100").default(5),
  BOXYARD_ON_UNRESPONSIVE: z.enum(["none", "kill", "restart"]).default("none"),
  BOXYARD_ORPHAN_MINUTES: count(1).max(10_080, "must be at most 10080").default(60),
  BOXYARD_START_FROM_MEMORY: z.enum(["on", "off"]).default("on"),
  BOXYARD_MAX_BUILDS: count(1).default(Math.max(2, availableParallelism())),
  BOXYARD_MAX_QUEUED_BUILDS: count(1).default(20),
  BOXYARD_MAX_BUILD_CACHE_MIB: count(0).default(20_480),
  BOXYARD_MAX_BUILD_FILES_MIB: count(1).default(65_536),
  BOXYARD_REGISTRY: z
    .string()
    .regex(/^[A-Za-z0-9.\-_[\]:]+(\/[a-z0-9._/-]+)?$/, "must be HOST[:PORT][/PREFIX]")
    .optional(),
  BOXYARD_PRIVATE_REGISTRIES: listedHosts,
  BOXYARD_TOKEN_SERVERS: list((entry) => /^[^=\s]+=[^=\s]+$/.test(entry), "must be REGISTRY=HOST pairs, separated by commas"),
  BOXYARD_BUILD_SETTINGS: z.enum(["machine", "none"]).default("machine"),
  BOXYARD_AUTHORITIES: z
    .string()
    .regex(/^(machine|none|\/.*)$/, "must be machine, none, or the absolute path of a PEM file or of a directory with such")
    .default("machine"),
  BOXYARD_METRICS: z.enum(["key", "open", "off"]).default("key"),
  BOXYARD_WEBHOOK_HOSTS: listedHosts,
  BOXYARD_TRUSTED_PROXIES: list(isNetwork, "must be addresses or networks (10.0.0.0/8), separated by commas"),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, "must begin with postgres://")
    .optional(),
  BOXYARD_REPLICA_ADDRESS: z
    .string()
    .regex(/^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+):[1-9]\d{0,4}$/, "must be HOST:PORT, such as 10.0.0.1:3000")
    .optional(),
  BOXYARD_REPLICA_TLS_NAME: z
    .string()
    .regex(/^[A-Za-z0-9.-]+$/, "must be a host name")
    .optional(),
  BOXYARD_REPLICA_CA: z.string().optional(),
} satisfies Partial<Record<SettingName, z.ZodType>>);

/** Settings from the environment; an empty variable counts as unset. Throws `invalid_argument` and names the variable. */
export function readConfig(env: Environment = process.env): ServerConfig {
  const given = Object.fromEntries(SETTINGS.map(({ name }) => [name, env[name] || undefined]).filter(([, value]) => value !== undefined));
  const result = Env.safeParse(given);
  if (!result.success) {
    const issue = result.error.issues[0];
    throw new AppError("invalid_argument", `${issue?.path.join(".")}: ${issue?.message}`, { reason: "invalid_setting" });
  }
  const e = result.data;
  return {
    dataDir: resolve(e.BOXYARD_DATA),
    listen: e.BOXYARD_LISTEN,
    tls: tlsOf(e.BOXYARD_TLS_LISTEN, e.BOXYARD_TLS_CERT, e.BOXYARD_TLS_KEY),
    domain: e.BOXYARD_DOMAIN,
    publicUrl: e.BOXYARD_PUBLIC_URL,
    peerTimeoutSeconds: e.BOXYARD_PEER_TIMEOUT_SECONDS,
    logLevel: e.BOXYARD_LOG_LEVEL,
    logFormat: e.BOXYARD_LOG_FORMAT,
    logMaxMib: e.BOXYARD_LOG_MAX_MIB,
    logFiles: e.BOXYARD_LOG_FILES,
    accessLog: e.BOXYARD_ACCESS_LOG === "off" ? undefined : e.BOXYARD_ACCESS_LOG,
    traces:
      e.OTEL_EXPORTER_OTLP_ENDPOINT === undefined
        ? undefined
        : { endpoint: e.OTEL_EXPORTER_OTLP_ENDPOINT.replace(/\/$/, ""), headers: e.OTEL_EXPORTER_OTLP_HEADERS },
    maxSandboxes: e.BOXYARD_MAX_SANDBOXES,
    volumeMB: e.BOXYARD_VOLUME_MB,
    recordings: {
      most: e.BOXYARD_RECORDINGS,
      maxBytes: e.BOXYARD_RECORDING_MB * 2 ** 20,
      maxExchanges: e.BOXYARD_RECORDING_EXCHANGES,
    },
    overcommit: { memory: e.BOXYARD_MEMORY_OVERCOMMIT, disk: e.BOXYARD_DISK_OVERCOMMIT },
    warm: { sandboxes: e.BOXYARD_WARM_SANDBOXES, memoryBytes: e.BOXYARD_WARM_MEMORY, least: e.BOXYARD_WARM_LEAST },
    maxCreates: e.BOXYARD_MAX_CREATES,
    maxQueuedCreates: e.BOXYARD_MAX_QUEUED_CREATES,
    roomWaitSeconds: e.BOXYARD_ROOM_WAIT_SECONDS,
    teamLimits: {
      ...DEFAULT_LIMITS,
      builds: e.BOXYARD_MAX_QUEUED_BUILDS,
      timeoutHours: e.BOXYARD_MAX_TIMEOUT_HOURS,
      ...e.BOXYARD_TEAM_LIMITS,
    },
    probeSeconds: e.BOXYARD_PROBE_SECONDS,
    idleCpuPercent: e.BOXYARD_IDLE_CPU_PERCENT,
    onUnresponsive: e.BOXYARD_ON_UNRESPONSIVE,
    orphanMinutes: e.BOXYARD_ORPHAN_MINUTES,
    startsFromMemory: e.BOXYARD_START_FROM_MEMORY === "on",
    maxBuilds: e.BOXYARD_MAX_BUILDS,
    maxBuildCacheMib: e.BOXYARD_MAX_BUILD_CACHE_MIB,
    maxBuildFilesMib: e.BOXYARD_MAX_BUILD_FILES_MIB,
    registry: e.BOXYARD_REGISTRY,
    privateRegistries: e.BOXYARD_PRIVATE_REGISTRIES,
    tokenServers: pairsOf(e.BOXYARD_TOKEN_SERVERS),
    proxy: proxyOf(env),
    buildSettings: e.BOXYARD_BUILD_SETTINGS,
    authorities: e.BOXYARD_AUTHORITIES,
    metrics: e.BOXYARD_METRICS,
    webhookHosts: e.BOXYARD_WEBHOOK_HOSTS,
    trustedProxies: e.BOXYARD_TRUSTED_PROXIES,
    databaseUrl: e.DATABASE_URL,
    ...replicasOf(e),
    given: shownTexts(given),
  };
}
