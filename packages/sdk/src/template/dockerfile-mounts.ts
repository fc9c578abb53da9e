import type { ContextSources } from "./context-files.ts";
import { stageOf } from "./dockerfile-copy.ts";
import { type Instruction, unsupported, wrong } from "./dockerfile-lines.ts";
import type { DockerfileStage } from "./dockerfile-stage.ts";
import type { RunMount, SecretMount } from "./steps.ts";

export interface Mounts {
  readonly secrets: SecretMount[];
  readonly mounts: RunMount[];
  /** What bind mounts take out of the context, by their places in `mounts`. */
  readonly bound: Map<number, ContextSources>;
}

/** What each kind takes beside `type`; `dst` and `destination` mean `target`, `src` means `source`, `ro` means `readonly`. */
const OPTIONS: Readonly<Record<string, readonly string[]>> = {
  secret: ["id", "target", "env", "required", "mode"],
  // There is one copy of a cache for each build, whatever `sharing` says.
  cache: ["id", "target", "readonly", "sharing", "mode", "uid", "gid"],
  // Everything that is written to it is lost, whether that is allowed or not.
  bind: ["target", "source", "from", "readonly", "rw", "readwrite"],
};
const SAME: Readonly<Record<string, string>> = { dst: "target", destination: "target", src: "source", ro: "readonly" };
const YES = new Set(["", "true", "1"]);

/** `RUN --mount=type=…`, all of one instruction. */
export function mountsOf(
  stage: DockerfileStage,
  instruction: Instruction,
  texts: readonly string[],
  stages: ReadonlyMap<string, DockerfileStage>,
): Mounts {
  const found: Mounts = { secrets: [], mounts: [], bound: new Map() };
  for (const text of texts) {
    const options = optionsOf(stage, instruction, text);
    const kind = options.get("type") ?? "bind";
    if (kind === "secret") found.secrets.push(secretOf(instruction, options));
    else if (kind === "cache") found.mounts.push(cacheOf(instruction, options));
    else bindOf(stage, instruction, options, stages, found);
  }
  return found;
}

function optionsOf(stage: DockerfileStage, instruction: Instruction, text: string): Map<string, string> {
  const options = new Map<string, string>();
  for (const part of text.split(",")) {
    const at = part.indexOf("=");
    const name = at < 0 ? part : part.slice(0, at);
    const value = at < 0 ? "" : stage.reading(instruction, (reader) => reader.here(part.slice(at + 1)));
    options.set(SAME[name] ?? name, value);
  }
  const kind = options.get("type") ?? "bind";
  const known = OPTIONS[kind];
  if (!known) throw unsupported(instruction, `RUN --mount=${text}; there are secret, cache and bind`);
  const unknown = [...options.keys()].find((name) => name !== "type" && !known.includes(name));
  if (unknown !== undefined) throw unsupported(instruction, `'${unknown}' of a ${kind}`);
  return options;
}

const isSet = (options: ReadonlyMap<string, string>, name: string) => options.has(name) && YES.has(options.get(name) ?? "");

function secretOf(instruction: Instruction, options: ReadonlyMap<string, string>): SecretMount {
  const value = (name: string) => options.get(name) || undefined;
  const target = value("target");
  const id = value("id") ?? target?.split("/").at(-1) ?? value("env");
  if (!id || !/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/.test(id)) throw wrong(instruction, "a secret needs an id of letters, digits and _ . -");
  return { id, target, env: value("env"), mode: value("mode"), required: isSet(options, "required") };
}

function targetOf(instruction: Instruction, options: ReadonlyMap<string, string>, kind: string): string {
  const target = options.get("target");
  if (!target) throw wrong(instruction, `a ${kind} mount needs a target`);
  return target;
}

function cacheOf(instruction: Instruction, options: ReadonlyMap<string, string>): RunMount {
  const [uid = "0", gid = "0"] = [options.get("uid"), options.get("gid")];
  if (!/^\d+$/.test(uid) || !/^\d+$/.test(gid)) throw wrong(instruction, "uid and gid of a cache must be numbers");
  const id = options.get("id");
  const mode = options.get("mode");
  return {
    type: "cache",
    target: targetOf(instruction, options, "cache"),
    ...(id ? { id } : {}),
    ...(mode ? { mode } : {}),
    ...(uid === "0" && gid === "0" ? {} : { owner: `${uid}:${gid}` }),
    ...(isSet(options, "readonly") ? { readonly: true } : {}),
  };
}

function bindOf(
  stage: DockerfileStage,
  instruction: Instruction,
  options: ReadonlyMap<string, string>,
  stages: ReadonlyMap<string, DockerfileStage>,
  { mounts, bound }: Mounts,
): void {
  const target = targetOf(instruction, options, "bind");
  const source = options.get("source") || ".";
  const from = options.get("from");
  if (from === undefined) {
    const { context, ignoreFile } = stage.file;
    bound.set(mounts.length, { context, sources: [source], isAdd: false, ignoreFile });
    mounts.push({ type: "bind", target });
    return;
  }
  mounts.push({ type: "bind", target, source, fromStage: stageOf(stage, instruction, from, stages) });
}
