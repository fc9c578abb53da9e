import { z } from "@hono/zod-openapi";

/* Bodies of the agent's HTTP operations: docs/contract/agent.md. */

export const ComposeRequest = z
  .object({
    source_paths: z.array(z.string()).min(1).openapi({ description: "Source files, concatenated in this order" }),
    destination: z.string().min(1).openapi({ description: "Path of the composed file" }),
    username: z.string().optional().openapi({ description: "User who owns the file. Relative paths begin at this user's home directory" }),
  })
  .openapi("ComposeRequest");

export const EntryInfo = z
  .object({
    path: z.string().openapi({ description: "Absolute path of the file" }),
    name: z.string().openapi({ description: "Name of the file" }),
    type: z.enum(["file", "directory"]),
    metadata: z
      .record(z.string(), z.string())
      .optional()
      .openapi({ description: "User-defined metadata, kept as extended attributes; absent when there is none" }),
  })
  .openapi("EntryInfo");

export const AgentError = z
  .object({
    code: z.int().openapi({ format: "int32", description: "Repeats the HTTP status", example: 404 }),
    message: z.string(),
  })
  .openapi("Error");

export const SandboxNotFound = z
  .object({
    code: z.int().openapi({ example: 502 }),
    message: z.string(),
    sandboxID: z.string().openapi({ description: "Id of the sandbox that the request named" }),
    sandboxId: z.string().openapi({ description: "The same value, under the name that older clients read" }),
  })
  .openapi("SandboxNotFound");

const bytes = (description: string) => z.int().openapi({ format: "int64", description });

export const Metrics = z
  .object({
    ts: z.int().openapi({ format: "int64", description: "Unix time of the sandbox in seconds, UTC" }),
    cpu_count: z.int().openapi({ description: "CPU cores of the sandbox" }),
    cpu_used_pct: z.number().openapi({ description: "Used share of all cores since the last request, in percent (0 to 100)" }),
    mem_total: bytes("Memory limit in bytes"),
    mem_used: bytes("Memory in use in bytes, without the page cache"),
    mem_cache: bytes("Page cache in bytes"),
    mem_total_mib: bytes("Memory limit in MiB"),
    mem_used_mib: bytes("Memory in use in MiB"),
    disk_used: bytes("Disk space in use in bytes"),
    disk_total: bytes("Disk limit in bytes"),
  })
  .openapi("Metrics");

const count = z.int().min(0);

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
  .openapi("FreezeResult");
