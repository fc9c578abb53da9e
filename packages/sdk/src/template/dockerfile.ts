import { InvalidArgumentError } from "../errors.ts";
import { execForm, type Instruction, instructionsOf, wordsOf } from "./dockerfile-lines.ts";
import { shellWord, type TemplateParts, type TemplateStep } from "./steps.ts";

/** Says nothing about what is in the template, or nothing that a sandbox could do. */
const WITHOUT_EFFECT = new Set(["EXPOSE", "LABEL", "MAINTAINER", "STOPSIGNAL", "VOLUME", "HEALTHCHECK", "ONBUILD", "SHELL"]);
const DEFAULT_SHELL = /^\[\s*"\/bin\/(ba)?sh"\s*,/;

interface State {
  readonly context: string;
  image: string | undefined;
  readonly steps: TemplateStep[];
  /** ENV and ARG so far, for `$NAME` in paths and names. */
  readonly variables: Map<string, string>;
  entrypoint: string | undefined;
  cmd: string | undefined;
}

/**
 * A template from a Dockerfile of one stage. Commands run as root in `/` until the file says otherwise; what it leaves unset is set to `user`
 * and `/home/user` at the end. `FROM boxyard/NAME` begins with a template. ENTRYPOINT and CMD become the start command.
 *
 * @throws InvalidArgumentError with reason `dockerfile_unsupported` or `dockerfile_invalid`, naming the line.
 */
export function parseDockerfile(text: string, context: string, args: Readonly<Record<string, string>>): TemplateParts {
  const steps = [step("USER", ["root"]), step("WORKDIR", ["/"])];
  const state: State = { context, image: undefined, steps, variables: new Map(), entrypoint: undefined, cmd: undefined };
  for (const instruction of instructionsOf(text)) apply(state, instruction, args);
  if (state.image === undefined) throw new InvalidArgumentError("Dockerfile: there is no FROM", invalidReason);
  const has = (type: string) => state.steps.slice(2).some((it) => it.type === type);
  if (!has("USER")) state.steps.push(step("USER", ["user"]));
  if (!has("WORKDIR")) state.steps.push(step("WORKDIR", ["/home/user"]));
  const startCmd = [state.entrypoint, state.cmd].filter((part) => part !== undefined).join(" ") || undefined;
  return { origin: originOf(state.image), steps: state.steps, startCmd, force: false };
}

type Handler = (state: State, instruction: Instruction, args: Readonly<Record<string, string>>) => void;

const HANDLERS: Readonly<Record<string, Handler>> = {
  FROM: from,
  ARG: argument,
  ENV: environment,
  RUN: run,
  COPY: copy,
  ADD: copy,
  WORKDIR(state, { rest }) {
    state.steps.push(step("WORKDIR", [expand(state, rest)]));
  },
  USER(state, { rest }) {
    // Templates have users, and no groups of their own.
    state.steps.push(step("USER", [expand(state, rest.split(":")[0] ?? "")]));
  },
  CMD(state, { rest }) {
    state.cmd = commandLine(rest);
  },
  ENTRYPOINT(state, { rest }) {
    state.entrypoint = commandLine(rest);
  },
};

function apply(state: State, instruction: Instruction, args: Readonly<Record<string, string>>): void {
  const { name, rest } = instruction;
  if (state.image === undefined && name !== "FROM" && name !== "ARG") throw wrong(instruction, "FROM must come first");
  const handler = HANDLERS[name];
  if (handler) handler(state, instruction, args);
  else if (name === "SHELL" && !DEFAULT_SHELL.test(rest)) throw unsupported(instruction, "commands run in bash");
  else if (!WITHOUT_EFFECT.has(name)) throw wrong(instruction, "there is no such instruction");
}

function from(state: State, instruction: Instruction): void {
  if (state.image !== undefined) throw unsupported(instruction, "a file with several stages; build them with a builder of images first");
  const words = wordsOf(instruction.rest).filter((word) => !word.startsWith("--platform="));
  const image = expand(state, words[0] ?? "");
  if (!image) throw wrong(instruction, "FROM needs an image");
  if (image === "scratch") throw unsupported(instruction, "an empty image: nothing could run in it");
  state.image = image;
}

/** Names that begin so are templates of the server, not images of a registry. */
const TEMPLATES = "boxyard/";

function originOf(image: string): TemplateParts["origin"] {
  return image.startsWith(TEMPLATES) ? { fromTemplate: image.slice(TEMPLATES.length) } : { fromImage: image };
}

function argument(state: State, instruction: Instruction, args: Readonly<Record<string, string>>): void {
  for (const word of wordsOf(instruction.rest)) {
    const at = word.indexOf("=");
    const key = at < 0 ? word : word.slice(0, at);
    const value = args[key] ?? (at < 0 ? state.variables.get(key) : expand(state, word.slice(at + 1))) ?? "";
    state.variables.set(key, value);
    // Before FROM it is for FROM only.
    if (state.image !== undefined) state.steps.push(step("ENV", [key, value]));
  }
}

function environment(state: State, instruction: Instruction): void {
  const words = wordsOf(instruction.rest);
  const old = /^(\S+)\s+([\s\S]*)$/.exec(instruction.rest);
  const pairs = words[0]?.includes("=")
    ? words.map((word): [string, string] => [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)])
    : [[old?.[1] ?? "", old?.[2] ?? ""] as [string, string]];
  for (const [key, value] of pairs) {
    if (!/^[A-Za-z_]\w*$/.test(key)) throw wrong(instruction, `'${key}' is no name of a variable`);
    state.variables.set(key, expand(state, value));
  }
  // The server expands $NAME itself: it knows the image's variables too.
  state.steps.push(step("ENV", pairs.flat()));
}

function run(state: State, instruction: Instruction): void {
  const { flags, rest } = flagsOf(instruction);
  if (flags.size > 0) throw unsupported(instruction, `RUN --${[...flags.keys()][0]}`);
  const [heredoc] = instruction.heredocs;
  const argv = execForm(rest);
  if (argv) state.steps.push(step("RUN", [argv.map(shellWord).join(" ")]));
  // A script as a whole, or input of a command: the shell reads both, from the same words.
  else if (heredoc && /^<<-?["']?[\w.]+["']?$/.test(rest)) state.steps.push(step("RUN", [heredoc.text]));
  else if (heredoc) state.steps.push(step("RUN", [[rest, ...instruction.heredocs.map(({ text, word }) => `${text}${word}`)].join("\n")]));
  else if (rest) state.steps.push(step("RUN", [rest]));
  else throw wrong(instruction, "RUN needs a command");
}

function copy(state: State, instruction: Instruction): void {
  const { flags, rest } = flagsOf(instruction);
  const unknown = [...flags.keys()].find((flag) => flag !== "chown" && flag !== "chmod" && flag !== "link");
  if (unknown) throw unsupported(instruction, `${instruction.name} --${unknown}`);
  const words = (execForm(rest) ?? wordsOf(rest)).map((word) => expand(state, word));
  const destination = words.pop();
  if (destination === undefined || words.length === 0) throw wrong(instruction, `${instruction.name} needs a source and a destination`);
  const chown = expand(state, flags.get("chown") ?? "root");
  for (const source of words) {
    if (/^(https?|ftp|git):\/\//.test(source)) throw unsupported(instruction, "ADD of a URL; use RUN with curl");
    const heredoc = instruction.heredocs.find(({ word }) => source.replace(/^<<-?/, "") === word);
    if (heredoc) {
      const path = destination.endsWith("/") ? `${destination}${heredoc.word}` : destination;
      const write = `mkdir -p "$(dirname ${shellWord(path)})" && printf %s ${shellWord(heredoc.text)} > ${shellWord(path)}`;
      state.steps.push(step("RUN", [write, "root"]));
      continue;
    }
    // Docker's sources begin at the context, with or without a slash.
    const below = source.replace(/^\/+/, "") || ".";
    const args = [below, destination, chown, flags.get("chmod") ?? ""];
    state.steps.push({ ...step("COPY", args), copy: { context: state.context, source: below } });
  }
}

function flagsOf({ rest }: Instruction): { flags: Map<string, string>; rest: string } {
  const flags = new Map<string, string>();
  let text = rest;
  for (let match = /^--([a-z-]+)(?:=(\S*))?\s+/.exec(text); match; match = /^--([a-z-]+)(?:=(\S*))?\s+/.exec(text)) {
    flags.set(match[1] ?? "", match[2] ?? "");
    text = text.slice(match[0].length);
  }
  return { flags, rest: text };
}

const commandLine = (rest: string) => execForm(rest)?.map(shellWord).join(" ") ?? rest;

/** Puts in the variables of this file; others stay as they are. */
function expand({ variables }: State, text: string): string {
  return text.replace(/\$(?:(\w+)|\{(\w+)(?::-([^}]*))?\})/g, (whole, plain?: string, braced?: string, fallback?: string) => {
    return variables.get(plain ?? braced ?? "") ?? fallback ?? whole;
  });
}

const step = (type: TemplateStep["type"], args: readonly string[]): TemplateStep => ({ type, args, force: false });
const invalidReason = { code: "invalid_argument", reason: "dockerfile_invalid" } as const;

function wrong({ line, name }: Instruction, what: string): InvalidArgumentError {
  return new InvalidArgumentError(`Dockerfile, line ${line} (${name}): ${what}`, invalidReason);
}

function unsupported({ line, name }: Instruction, what: string): InvalidArgumentError {
  const options = { code: "invalid_argument", reason: "dockerfile_unsupported" } as const;
  return new InvalidArgumentError(`Dockerfile, line ${line} (${name}): not supported: ${what}`, options);
}
