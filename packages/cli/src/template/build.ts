import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type BuildError, type BuildSecret, type CallSite, placeOf, Template } from "@boxyard/sdk/template";
import { connection } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import type { MountOption } from "../options.ts";
import { BuildView } from "./build-view.ts";

export interface BuildOptions {
  readonly file?: string;
  readonly buildArg?: Record<string, string>;
  readonly target?: string;
  readonly secret?: string[];
  readonly tag?: string[];
  readonly startCmd?: string;
  readonly readyCmd?: string;
  readonly cpus?: number;
  readonly memory?: number;
  readonly disk?: number;
  /** False: sandboxes of the template can't gain privileges (sudo). */
  readonly newPrivileges?: boolean;
  readonly startFromMemory?: boolean;
  readonly ptrace?: boolean;
  readonly maxOpenFiles?: number;
  readonly volume?: Record<string, MountOption>;
  readonly cache: boolean;
  readonly detach?: boolean;
  readonly json?: boolean;
}

/** Lines shown before and after the one that failed. */
const AROUND = 2;
/** Looked for in this order when none is named. */
const FILES = ["boxyard.Dockerfile", "Dockerfile"];

export function build(name: string, directory: string, options: BuildOptions, context: CliContext): Promise<void> {
  return buildAs(name, templateOf(directory, options, context), options, context);
}

/** Builds a template, shows the progress, and prints the template's id. */
export async function buildAs(
  name: string,
  made: Template,
  options: Omit<BuildOptions, "file" | "buildArg" | "target">,
  context: CliContext,
): Promise<void> {
  const { tag: tags, cache } = options;
  const secrets = Object.fromEntries((options.secret ?? []).map((text) => secretOf(text, context.config.env)));
  const target = { ...(await connection(context)), tags, secrets, ...sizeOf(options), skipCache: !cache, signal: context.signal };
  const template = withOutcome(made, options);
  const view = new BuildView(context.output);
  try {
    const onUpload = view.upload.bind(view);
    const onLog = view.log.bind(view);
    const built = options.detach
      ? await template.buildInBackground(name, { ...target, onUpload })
      : await template.build(name, { ...target, onUpload, onLog });
    view.end();
    if (options.json) return context.output.json(built);
    if (options.detach) context.output.note("the build continues on the server; `boxyard template info NAME` shows its state");
    else context.output.note(`built ${name} in ${view.seconds.toFixed(1)} s; \`boxyard run -t ${name} -- COMMAND\` uses it`);
    await context.output.line(built.templateId);
  } catch (error) {
    view.end();
    const { step, at, message } = error as BuildError;
    if (step === undefined) throw error;
    throw Object.assign(error as BuildError, { message: [`step ${step}: ${message}`, ...excerpt(at)].join("\n") });
  }
}

const sizeOf = ({ cpus, memory, disk }: Partial<BuildOptions>) => ({ cpuCount: cpus, memoryMB: memory, diskSizeMB: disk });

/** The template with the command line's settings of its sandboxes, which override those of its file. */
function withOutcome(
  template: Template,
  { startCmd, readyCmd, startFromMemory, newPrivileges, ptrace, maxOpenFiles, volume }: Partial<BuildOptions>,
): Template {
  const started = startCmd === undefined ? template : template.setStartCmd(startCmd);
  const waited = readyCmd === undefined ? started : started.setReadyCmd(readyCmd);
  const booting = startFromMemory === false ? waited.startFromMemory(false) : waited;
  const ready = volume === undefined ? booting : booting.mountVolumes(volume);
  const restrictions = {
    ...(newPrivileges === false && { noNewPrivileges: true }),
    ...(ptrace === false && { noPtrace: true }),
    ...(maxOpenFiles !== undefined && { maxOpenFiles }),
  };
  return Object.keys(restrictions).length > 0 ? ready.restrict(restrictions) : ready;
}

/** `id=ID[,src=FILE][,env=VARIABLE][,stored=NAME]`: a file's text, a variable of this program, or a stored secret; without all the variable ID. */
function secretOf(text: string, env: Readonly<Record<string, string | undefined>>): [id: string, secret: BuildSecret] {
  const parts = new Map(text.split(",").map((part) => [part.split("=", 1)[0] ?? "", part.slice(part.indexOf("=") + 1)]));
  const [id, file] = [parts.get("id"), parts.get("src") ?? parts.get("source")];
  if (!id || [...parts.keys()].some((name) => !["id", "src", "source", "env", "stored"].includes(name))) {
    throw usageError("--secret is id=ID, with src=FILE, env=VARIABLE or stored=NAME where its value is");
  }
  const stored = parts.get("stored");
  if (stored !== undefined) return [id, { stored }];
  if (file !== undefined) {
    if (!existsSync(file)) throw usageError(`--secret ${id}: there is no ${file}`);
    return [id, readFileSync(file, "utf8")];
  }
  const name = parts.get("env") ?? id;
  const value = env[name];
  if (value === undefined) throw usageError(`--secret ${id}: the variable ${name} is not set; name a file with src=`);
  return [id, value];
}

/** The lines of a Dockerfile around the one that failed. */
function excerpt(at: CallSite | undefined): string[] {
  if (at?.file === undefined || at.column !== undefined || !existsSync(at.file)) return [];
  const lines = readFileSync(at.file, "utf8").split("\n");
  const first = Math.max(0, at.line - 1 - AROUND);
  const shown = lines.slice(first, at.line + AROUND).map((line, i) => {
    const number = first + i + 1;
    return `${number === at.line ? ">" : " "} ${String(number).padStart(4)} | ${line}`.trimEnd();
  });
  return [`${placeOf(at)}:`, ...shown];
}

function templateOf(directory: string, options: BuildOptions, context: CliContext): Template {
  const named = options.file;
  const path = named ?? FILES.map((name) => join(directory, name)).find((candidate) => existsSync(candidate));
  if (path === undefined) throw usageError(`there is no ${FILES.join(" and no ")} in ${directory}; name a file with --file`);
  if (!existsSync(path)) throw usageError(`there is no ${path}`);
  return Template.fromDockerfile(readFileSync(path, "utf8"), {
    context: directory,
    file: path,
    args: options.buildArg,
    target: options.target,
    onNote: (text) => context.output.note(context.output.dim(`${path}, ${text}`)),
  });
}
