import { z } from "zod";
import { named } from "../openapi.ts";

/* Bodies of the agent's HTTP operations: docs/contract/agent.md. */

export const ComposeRequest = z
  .object({
    source_paths: z.array(z.string()).min(1).meta({ description: "Source files, concatenated in this order" }),
    destination: z.string().min(1).meta({ description: "Path of the composed file" }),
    username: z.string().optional().meta({ description: "User who owns the file. Relative paths begin at this user's home directory" }),
  })
  .meta(named("ComposeRequest"));

export const EntryInfo = z
  .object({
    path: z.string().meta({ description: "Absolute path of the file" }),
    name: z.string().meta({ description: "Name of the file" }),
    type: z.enum(["file", "directory"]),
    metadata: z
      .record(z.string(), z.string())
      .optional()
      .meta({ description: "User-defined metadata, kept as extended attributes; absent when there is none" }),
  })
  .meta(named("EntryInfo"));

export const AgentError = z
  .object({
    code: z.int().meta({ format: "int32", description: "Repeats the HTTP status", example: 404 }),
    message: z.string(),
  })
  .meta(named("Error"));

export const SandboxNotFound = z
  .object({
    code: z.int().meta({ example: 502 }),
    message: z.string(),
    sandboxID: z.string().meta({ description: "Id of the sandbox that the request named" }),
    sandboxId: z.string().meta({ description: "The same value, under the name that older clients read" }),
  })
  .meta(named("SandboxNotFound"));

const bytes = (description: string) => z.int().meta({ format: "int64", description });

export const Metrics = z
  .object({
    ts: z.int().meta({ format: "int64", description: "Unix time of the sandbox in seconds, UTC" }),
    cpu_count: z.int().meta({ description: "CPU cores of the sandbox" }),
    cpu_used_pct: z.number().meta({ description: "Used share of all cores since the last request, in percent (0 to 100)" }),
    mem_total: bytes("Memory limit in bytes"),
    mem_used: bytes("Memory in use in bytes, without the page cache"),
    mem_cache: bytes("Page cache in bytes"),
    mem_total_mib: bytes("Memory limit in MiB"),
    mem_used_mib: bytes("Memory in use in MiB"),
    disk_used: bytes("Disk space in use in bytes"),
    disk_total: bytes("Disk limit in bytes"),
  })
  .meta(named("Metrics"));

const count = z.int().min(0);

export const JournalPage = z
  .object({
    entries: z.array(
      z.object({
        seq: count.meta({ description: "Number of the entry, of one run of the agent" }),
        at: count.meta({ format: "int64", description: "Milliseconds since 1970" }),
        kind: z.enum(["started", "ended", "agent"]).meta({ description: "A command has started or ended, or the agent says something" }),
        text: z.string(),
        pid: z.int().optional(),
        exitCode: z.int().optional().meta({ description: "-1 after a signal" }),
        ms: count.optional().meta({ description: "How long the command ran" }),
      }),
    ),
    last: count.meta({ description: "Number of the newest entry" }),
    running: count.meta({ description: "Commands that run" }),
  })
  .meta(named("JournalPage"));

export const FreezeResult = z
  .object({
    mode: z.enum(["legacy", "hierarchy"]),
    visited: count,
    allowlisted: count,
    truncated: z.boolean(),
    preFrozen: count,
    requested: count,
    frozen: count,
    notFrozen: count,
    failed: count,
    unobservable: count,
    sweepMs: z.number(),
    waitMs: z.number(),
  })
  .meta(named("FreezeResult"));
