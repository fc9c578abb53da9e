import type { NewSandboxV2 } from "@boxyard/spec/platform-types";
import { entriesOf } from "../../lib/network-entries.ts";
import type { Preset } from "../../lib/network-update.ts";
import { readPairs } from "./pairs.ts";

/** What the form says. Numbers are as they were typed; empty ones are the template's. */
export interface Wish {
  readonly template: string;
  readonly name: string;
  readonly minutes: string;
  readonly idleMinutes: string;
  readonly pauses: boolean;
  readonly resumes: boolean;
  readonly preset: Preset;
  readonly allowed: string;
  readonly cpus: string;
  readonly memory: string;
  readonly disk: string;
  /** `NAME:PATH[:ro]` lines. */
  readonly volumes: string;
  readonly metadata: string;
  readonly envs: string;
}

/** The form as it opens, but for the template. */
export const NO_WISHES: Omit<Wish, "template"> = {
  name: "",
  minutes: "15",
  idleMinutes: "",
  pauses: false,
  resumes: false,
  preset: "all",
  allowed: "",
  cpus: "",
  memory: "",
  disk: "",
  volumes: "",
  metadata: "",
  envs: "",
};

/** The request for what the form says. Throws for a line that cannot be read. */
export function newSandbox(wish: Wish): NewSandboxV2 {
  const { cpus, memory, disk } = wish;
  const resources = {
    ...(cpus !== "" && { cpuCount: Number(cpus) }),
    ...(memory !== "" && { memoryMB: Number(memory) }),
    ...(disk !== "" && { diskSizeMB: Number(disk) }),
  };
  const volumeMounts = entriesOf(wish.volumes).map(mountOf);
  return {
    templateID: wish.template,
    timeout: Math.round(Number(wish.minutes) * 60),
    metadata: readPairs(wish.metadata, "Metadata"),
    envVars: readPairs(wish.envs, "Environment"),
    autoPause: wish.pauses,
    ...(wish.resumes && { autoResume: { enabled: true } }),
    ...(wish.name.trim() !== "" && { name: wish.name.trim() }),
    ...(wish.idleMinutes !== "" && { idleTimeout: Math.round(Number(wish.idleMinutes) * 60) }),
    ...(wish.preset !== "all" && { network: { preset: wish.preset, allowOut: entriesOf(wish.allowed) } }),
    ...(Object.keys(resources).length > 0 && { resources }),
    ...(volumeMounts.length > 0 && { volumeMounts }),
  };
}

function mountOf(line: string): { readonly name: string; readonly path: string; readonly readOnly?: boolean } {
  const [, name, path, mode] = /^([^:]+):(\/[^:]*)(:ro)?$/.exec(line) ?? [];
  if (name === undefined || path === undefined) throw new Error(`Volumes: '${line.slice(0, 50)}' is not NAME:PATH, with an absolute path`);
  return { name, path, ...(mode && { readOnly: true }) };
}
