import { InvalidArgumentError } from "../errors.ts";
import { copyOrAdd } from "./dockerfile-copy.ts";
import { execForm, flagsOf, type Instruction, instructionsOf, invalid, triggerFrom, unsupported, wrong } from "./dockerfile-lines.ts";
import { isEmpty, originOf, partsOf, triggerKey } from "./dockerfile-parts.ts";
import { run } from "./dockerfile-run.ts";
import { type CommandForm, DockerfileStage, type FileFacts } from "./dockerfile-stage.ts";
import { literal, splitWords, WordReader } from "./dockerfile-words.ts";
import type { TemplateParts } from "./steps.ts";

export interface DockerfileInput {
  readonly context: string;
  readonly ignoreFile: string;
  readonly args: Readonly<Record<string, string>>;
  /** Stage to build, by name or number; the last one by default. */
  readonly target?: string | undefined;
  /** Path of the file, for people. */
  readonly file?: string | undefined;
  readonly onNote?: ((text: string) => void) | undefined;
  /** ONBUILD instructions of images and templates that are not of the file, by what `triggerKey` gives. */
  readonly triggers?: ReadonlyMap<string, readonly string[]> | undefined;
}

/** Instructions that change neither the template's files nor what its sandboxes do. */
const WITHOUT_EFFECT = new Set(["EXPOSE", "LABEL", "MAINTAINER", "STOPSIGNAL", "VOLUME"]);
const STAGE_NAME = /^[a-z][a-z0-9_.-]*$/;

/**
 * A template from a Dockerfile. Commands run as root in `/` until the file says otherwise; what it leaves unset is set to `user` and
 * `/home/user` at the end. `FROM boxyard/NAME` begins with a template. ENTRYPOINT and CMD become the start command. Only stages that the wanted
 * one needs are built.
 *
 * @throws InvalidArgumentError with reason `dockerfile_unsupported` or `dockerfile_invalid`, naming the line.
 */
export function parseDockerfile(text: string, input: DockerfileInput): TemplateParts {
  const { context, ignoreFile, args, target, onNote = () => {} } = input;
  const path = input.file;
  const { instructions, escapeChar } = instructionsOf(text);
  const globals = new Map(platformArgs(args));
  const file: FileFacts = { context, ignoreFile, path, escapeChar, args, globals, onNote };
  const stages: DockerfileStage[] = [];
  const known = new Map<string, DockerfileStage>();
  for (const instruction of instructions) {
    const stage = stages.at(-1);
    if (instruction.name === "FROM") {
      const next = from(file, instruction, stages.length, known);
      stages.push(next);
      known.set(String(stages.length - 1), next).set(next.name, next);
      const due = next.due ?? triggersOf(instruction, input.triggers?.get(triggerKey(next.origin)) ?? []);
      for (const trigger of due) applyOrRefuse(next, trigger, before(known, next));
    } else if (stage) applyOrRefuse(stage, instruction, before(known, stage));
    else if (instruction.name === "ARG") globalArg(file, globals, instruction);
    else throw wrong(instruction, "FROM must come first");
  }
  const wanted = target === undefined ? stages.at(-1) : known.get(target.toLowerCase());
  if (!wanted) throw invalid(1, "FROM", target === undefined ? "there is no FROM" : `there is no stage '${target}'`);
  return partsOf(wanted, known);
}

/** A stage does not see itself. */
function before(known: ReadonlyMap<string, DockerfileStage>, stage: DockerfileStage): Map<string, DockerfileStage> {
  return new Map([...known].filter(([, other]) => other !== stage));
}

/** Variables that are set before FROM in every file. Sandboxes run on the server's processor, which is assumed to be of the same kind as this program's. */
function platformArgs(args: Readonly<Record<string, string>>): [string, string][] {
  const arch = process.arch === "x64" ? "amd64" : process.arch;
  const facts = ["TARGET", "BUILD"].flatMap((side): [string, string][] => [
    [`${side}PLATFORM`, `linux/${arch}`],
    [`${side}OS`, "linux"],
    [`${side}ARCH`, arch],
    [`${side}VARIANT`, ""],
  ]);
  return facts.map(([key, value]) => [key, args[key] ?? value]);
}

function globalArg(file: FileFacts, globals: Map<string, string>, instruction: Instruction): void {
  for (const [key, raw] of argWords(instruction, file.escapeChar)) {
    const value = file.args[key] ?? (raw === undefined ? undefined : readerOf(globals, file.escapeChar).known(raw));
    if (value !== undefined) globals.set(key, value);
  }
}

const readerOf = (known: ReadonlyMap<string, string>, escapeChar: string) => new WordReader({ known, deferred: new Map() }, escapeChar);

function argWords(instruction: Instruction, escapeChar: string): [key: string, value: string | undefined][] {
  const words = splitWords(instruction.rest, escapeChar);
  if (words.length === 0) throw wrong(instruction, "ARG needs a name");
  return words.map((word) => {
    const at = word.indexOf("=");
    const key = at < 0 ? word : word.slice(0, at);
    if (!/^[A-Za-z_]\w*$/.test(key)) throw wrong(instruction, `'${key}' is not a valid name of a variable`);
    return [key, at < 0 ? undefined : word.slice(at + 1)];
  });
}

function from(file: FileFacts, instruction: Instruction, index: number, known: ReadonlyMap<string, DockerfileStage>): DockerfileStage {
  const { flags, rest } = flagsOf(instruction);
  const flag = [...flags.keys()].find((name) => name !== "platform");
  if (flag) throw wrong(instruction, `FROM has no flag --${flag}`);
  const [word = "", as, name = String(index), ...more] = splitWords(rest, file.escapeChar);
  if (more.length > 0 || (as !== undefined && (as.toUpperCase() !== "AS" || name === String(index)))) {
    throw wrong(instruction, "the form is FROM image [AS name]");
  }
  const lower = name.toLowerCase();
  if (as !== undefined && !STAGE_NAME.test(lower)) throw wrong(instruction, `'${name}' cannot be the name of a stage`);
  if (known.has(lower)) throw wrong(instruction, `there are two stages '${lower}'`);
  const reader = readerOf(file.globals, file.escapeChar);
  const image = reader.known(word) ?? "";
  if (image === "") throw wrong(instruction, `FROM needs an image, and '${word}' is not one`);
  const platform = reader.known(flags.get("platform") ?? "");
  const own = file.globals.get("TARGETPLATFORM");
  const parent = /^\d+$/.test(image) ? undefined : known.get(image.toLowerCase());
  const refusal = refusalOf(instruction, platform, own);
  return new DockerfileStage(file, { line: instruction.line, name: lower, origin: originOf(image), refusal }, parent);
}

/** Refuses an image for another platform; called only when the stage is needed. */
function refusalOf(instruction: Instruction, platform: string | undefined, own: string | undefined): (() => never) | undefined {
  const refuse = (what: string) => () => {
    throw unsupported(instruction, what);
  };
  if (platform && platform !== own) return refuse(`images for ${platform}; sandboxes run those for ${own}`);
  return undefined;
}

type Handler = (stage: DockerfileStage, instruction: Instruction, stages: ReadonlyMap<string, DockerfileStage>) => void;

const HANDLERS: Readonly<Record<string, Handler>> = {
  ARG: argument,
  ENV: environment,
  RUN(stage, instruction, stages) {
    if (isEmpty(stage)) throw unsupported(instruction, "RUN after FROM scratch: there is no program in an empty image");
    run(stage, instruction, stages);
  },
  COPY: copyOrAdd,
  ADD: copyOrAdd,
  WORKDIR(stage, instruction) {
    const path = stage.reading(instruction, (reader) => reader.forServer(instruction.rest));
    if (path === "") throw wrong(instruction, "WORKDIR needs a path");
    stage.add(instruction, "WORKDIR", [path]);
  },
  USER(stage, instruction) {
    // Commands have the groups that their user is in.
    const name = stage.reading(instruction, (reader) => reader.forServer(instruction.rest.split(":")[0] ?? ""));
    if (name === "") throw wrong(instruction, "USER needs a name");
    stage.add(instruction, "USER", [name]);
  },
  CMD(stage, instruction) {
    stage.cmd = commandOf(instruction);
    stage.ownCmd = true;
    stage.commandLine = instruction.line;
  },
  ENTRYPOINT(stage, instruction) {
    stage.entrypoint = commandOf(instruction);
    stage.commandLine = instruction.line;
    // An inherited CMD belongs to the entry point that was inherited with it.
    if (!stage.ownCmd) stage.cmd = undefined;
  },
  SHELL(stage, instruction) {
    const argv = execForm(instruction.rest);
    if (!argv || argv.length === 0) throw wrong(instruction, 'SHELL needs a list, such as ["/bin/bash", "-o", "pipefail", "-c"]');
    stage.shell = /^((\/usr)?\/bin\/)?(ba)?sh -c$/.test(argv.join(" ")) ? undefined : argv;
  },
  ONBUILD: trigger,
  HEALTHCHECK: healthCheck,
};

const NO_TRIGGERS = new Set(["FROM", "ONBUILD", "MAINTAINER"]);

/** An instruction that is done in the stages that begin with this one. */
function trigger(stage: DockerfileStage, instruction: Instruction): void {
  stage.triggers.push(triggerOf(instruction));
}

function triggerOf(instruction: Instruction): Instruction {
  const [, name = "", rest = ""] = /^(\S+)\s*([\s\S]*)$/.exec(instruction.rest) ?? [];
  const upper = name.toUpperCase();
  if (upper === "") throw wrong(instruction, "ONBUILD needs an instruction");
  if (NO_TRIGGERS.has(upper)) throw wrong(instruction, `ONBUILD ${upper} is not allowed`);
  return { ...instruction, name: upper, rest };
}

/** Triggers of an image, as if they stood after FROM. */
const triggersOf = (from: Instruction, texts: readonly string[]) => texts.map((text) => triggerOf(triggerFrom(text, from.line)));

/** The ready command of what ENTRYPOINT and CMD start. The server decides how often and how long it is run. */
function healthCheck(stage: DockerfileStage, instruction: Instruction): void {
  const { rest } = flagsOf(instruction);
  const [, kind = "", command = ""] = /^(\S+)\s*([\s\S]*)$/.exec(rest) ?? [];
  if (kind.toUpperCase() === "NONE" && command === "") {
    stage.health = undefined;
    return;
  }
  if (kind.toUpperCase() !== "CMD" || command === "")
    throw wrong(instruction, "the form is HEALTHCHECK [OPTIONS] CMD command, or HEALTHCHECK NONE");
  stage.health = commandOf({ ...instruction, rest: command });
  stage.healthLine = instruction.line;
}

/** An unsupported instruction is an error only if its stage is needed. */
function applyOrRefuse(stage: DockerfileStage, instruction: Instruction, stages: ReadonlyMap<string, DockerfileStage>): void {
  try {
    apply(stage, instruction, stages);
  } catch (error) {
    if (!(error instanceof InvalidArgumentError) || error.reason !== "dockerfile_unsupported") throw error;
    stage.refusal ??= () => {
      throw error;
    };
  }
}

function apply(stage: DockerfileStage, instruction: Instruction, stages: ReadonlyMap<string, DockerfileStage>): void {
  const { name, rest } = instruction;
  const handler = Object.hasOwn(HANDLERS, name) ? HANDLERS[name] : undefined;
  if (handler) handler(stage, instruction, stages);
  else if (!WITHOUT_EFFECT.has(name)) throw wrong(instruction, "there is no such instruction");
  else if (rest === "") throw wrong(instruction, `${name} needs an argument`);
  else stage.file.onNote(`line ${instruction.line}: ${name} has no effect on a template`);
}

function commandOf({ rest }: Instruction): CommandForm {
  const argv = execForm(rest);
  return argv ? { argv } : { line: rest };
}

function argument(stage: DockerfileStage, instruction: Instruction): void {
  const { args, globals, escapeChar } = stage.file;
  for (const [key, raw] of argWords(instruction, escapeChar)) {
    const value = args[key] ?? (raw === undefined ? globals.get(key) : undefined);
    if (value !== undefined) stage.args.set(key, { text: literal(value), known: value });
    else if (raw !== undefined) {
      stage.args.set(
        key,
        stage.reading(instruction, (reader) => ({ text: reader.forServer(raw), known: reader.known(raw) })),
      );
    }
  }
}

function environment(stage: DockerfileStage, instruction: Instruction): void {
  const words = splitWords(instruction.rest, stage.file.escapeChar);
  const [, key = "", value = ""] = /^(\S+)\s+([\s\S]*)$/.exec(instruction.rest) ?? [];
  if (!words[0]?.includes("=") && key === "") throw wrong(instruction, "ENV needs a name and a value");
  const pairs: [string, string][] = words[0]?.includes("=")
    ? words.map((word) => [word.slice(0, Math.max(0, word.indexOf("="))), word.slice(word.indexOf("=") + 1)])
    : [[key, value]];
  // All of one instruction see what was set before it.
  const read = stage.reading(instruction, (reader) =>
    pairs.map(([name, raw]) => ({ name, text: reader.forServer(raw), known: reader.known(raw) })),
  );
  for (const { name, known } of read) {
    if (!/^[A-Za-z_]\w*$/.test(name)) throw wrong(instruction, `'${name}' is not a valid name of a variable`);
    stage.env.delete(name);
    stage.unknown.delete(name);
    if (known === undefined) stage.unknown.add(name);
    else stage.env.set(name, known);
  }
  stage.add(
    instruction,
    "ENV",
    read.flatMap(({ name, text }) => [name, text]),
  );
}
