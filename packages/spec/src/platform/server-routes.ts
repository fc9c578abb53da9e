import { z } from "zod";
import { named } from "../openapi.ts";
import { allowed } from "./access.ts";
import { errors, json, operation } from "./route-parts.ts";

const tags = ["Server"];
const count = z.int().min(0);

const Check = z
  .object({
    name: z.string(),
    status: z.enum(["ok", "warn", "fail"]).meta({ description: "`fail`: sandboxes cannot run; `warn`: they run, with less" }),
    found: z.string(),
    fix: z.string().optional().meta({ description: "What to do about it; absent only with `ok`" }),
  })
  .meta(named("ServerCheck"));

/** What can be too little for another sandbox. */
const SHORT_OF = ["places", "memory", "disk", "processes", "promisedMemory", "promisedDisk"] as const;
export type ShortOf = (typeof SHORT_OF)[number];

const Room = z
  .object({
    sandboxes: count.meta({ description: "How many more of this size the server takes, if they use as much as those that run now" }),
    shortOf: z.enum(SHORT_OF).meta({
      description:
        "What ends first: `places` is BOXYARD_MAX_SANDBOXES; `promised…` are the limits of all sandboxes together, with BOXYARD_MEMORY_OVERCOMMIT and BOXYARD_DISK_OVERCOMMIT",
    }),
    size: z.object({ cpuCount: count, memoryMB: count, diskSizeMB: count }).meta({ description: "That of the template `base`" }),
  })
  .meta(named("ServerRoom"));

const Latency = z
  .object({
    change: z.string().meta({ description: "create (those from the warm pool included), resume, pause, …" }),
    count,
    failed: count,
    p50Ms: z.number(),
    p95Ms: z.number(),
    p99Ms: z.number(),
  })
  .meta(named("ServerLatency"));

const amount = z.object({ used: count, total: count });

const ServerState = z
  .object({
    version: z.string(),
    startedAt: z.iso.datetime(),
    verdict: z.enum(["ok", "warn", "fail"]).meta({ description: "The worst of the checks" }),
    checkedAt: z.iso.datetime(),
    checks: z.array(Check).meta({ description: "What `boxyard doctor` says; at most a minute old" }),
    sandboxes: z.object({ running: count, paused: count, starting: count }).meta({ description: "Of all teams" }),
    room: Room,
    memoryBytes: amount,
    diskBytes: amount.meta({ description: "The storage pool" }),
    processes: amount,
    createsPerMinute: z.array(count).meta({ description: "Of the last hour, oldest first; the last one is the minute that runs" }),
    latencies: z.array(Latency).meta({ description: "Of the newest thousand changes of a kind within the last quarter of an hour" }),
    warm: z
      .object({ waiting: count, most: count, claims: count })
      .meta({ description: "The warm pool: sandboxes that wait, and creates that got one" }),
    limitsMet: z.array(z.object({ reason: z.string(), limit: z.string().optional(), count, lastAt: z.iso.datetime() })).meta({
      description:
        "Requests that were refused since the start of the server because of a limit, or because something was away; newest first",
    }),
  })
  .meta(named("ServerState"));
export type ServerState = z.infer<typeof ServerState>;

const ORIGINS = ["default", "environment", "file"] as const;
export type SettingOrigin = (typeof ORIGINS)[number];

const ServerSettings = z
  .object({
    settings: z.array(
      z
        .object({
          name: z.string(),
          value: z.string().meta({ description: "What holds; of a secret only `(set)`; in words where it depends on the machine" }),
          origin: z.enum(ORIGINS).meta({ description: "`file`: the file that `boxyard service install` has written" }),
          file: z.string().optional(),
          form: z.string().meta({ description: "What a value looks like" }),
          default: z.string(),
          meaning: z.string(),
        })
        .meta(named("ServerSetting")),
    ),
  })
  .meta(named("ServerSettings"));
export type ServerSettings = z.infer<typeof ServerSettings>;

/** The server as its operator sees it (docs/contract/platform.md, The server). */
export const serverRoutes = {
  getServer: operation({
    method: "get",
    path: "/boxyard/server",
    tags,
    ...allowed("admin", "server"),
    summary: "How the server is: checks, room for sandboxes, creates, latencies, limits that were met",
    responses: { 200: json(ServerState, "As it is now"), ...errors() },
  }),
  getServerSettings: operation({
    method: "get",
    path: "/boxyard/settings",
    tags,
    ...allowed("admin", "server"),
    summary: "The settings in force, and where each value comes from",
    responses: { 200: json(ServerSettings, "In the order of docs/configuration.md"), ...errors() },
  }),
} as const;
