import { existsSync, readFileSync } from "node:fs";
import { type ExportOpts, type PushProgress, type RegistryAccess, Template } from "@boxyard/sdk/template";
import { connection } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import { Progress } from "../output/progress.ts";
import { type BuildOptions, buildAs } from "./build.ts";

export interface PushOptions {
  readonly username?: string;
  readonly passwordStdin?: boolean;
  readonly credentials?: string;
  readonly json?: boolean;
}

const STDIN = 0;

export async function push(name: string, reference: string, options: PushOptions, context: CliContext): Promise<void> {
  const registry = accessOf(options);
  const progress = new Progress(context.output, `pushing to ${reference}`);
  let done = 0;
  const onProgress = ({ bytesDone, bytes }: PushProgress) => {
    progress.expect(bytes);
    progress.add(bytesDone - done);
    done = bytesDone;
  };
  const target = await connection(context);
  try {
    const pushed = await Template.push(name, reference, { ...target, registry, onProgress, signal: context.signal });
    progress.finish(`pushed ${pushed.reference}`);
    if (options.json) return await context.output.json(pushed);
    await context.output.line(pushed.digest);
  } catch (error) {
    progress.clear();
    throw error;
  }
}

export async function exportTo(name: string, file: string, context: CliContext): Promise<void> {
  const toOutput = file === "-";
  if (toOutput && process.stdout.isTTY) throw usageError("an archive cannot be written to a terminal; name a file, or redirect the output");
  const target = await connection(context);
  const progress = new Progress(context.output, `exporting ${name}`);
  let done = 0;
  const onProgress: ExportOpts["onProgress"] = ({ bytes, totalBytes }) => {
    progress.expect(totalBytes);
    progress.add(bytes - done);
    done = bytes;
  };
  try {
    const to = toOutput ? (piece: Uint8Array) => context.output.write(piece) : file;
    const { digest } = await Template.export(name, to, { ...target, onProgress, signal: context.signal });
    progress.finish(`exported ${name}`);
    if (!toOutput) await context.output.line(digest);
  } catch (error) {
    progress.clear();
    throw error;
  }
}

export async function importFrom(file: string, name: string, options: Omit<BuildOptions, "cache">, context: CliContext): Promise<void> {
  if (!existsSync(file)) throw usageError(`there is no ${file}`);
  await buildAs(name, Template.fromArchive(file), { ...options, cache: true }, context);
}

/** Secrets come from a file or from standard input, never from the command line, which every user of the machine can read. */
function accessOf({ username, passwordStdin, credentials }: PushOptions): RegistryAccess | undefined {
  if (credentials !== undefined) {
    if (username !== undefined || passwordStdin) throw usageError("--credentials cannot be used with --username or --password-stdin");
    return parsed(readFileSync(credentials === "-" ? STDIN : credentials, "utf8"));
  }
  if (username === undefined && !passwordStdin) return undefined;
  if (username === undefined || !passwordStdin) throw usageError("--username and --password-stdin need each other");
  return { type: "registry", username, password: readFileSync(STDIN, "utf8").replace(/\r?\n$/, "") };
}

/** Checks only that it is JSON with a type; the server checks the members. */
function parsed(text: string): RegistryAccess {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && "type" in value) return value as RegistryAccess;
  } catch {
    // Reported below, without anything of what the file holds.
  }
  throw usageError('--credentials: not JSON with a "type" of registry, aws or gcp');
}
