import { compile, encode } from "./bpf.ts";
import { seccompProfile } from "./profile.ts";
import type { Arch } from "./syscalls.ts";

/** How a runtime takes the filter: compiled by us (`bpf`), or as a profile that it compiles at every create. */
export type SeccompForm = "bpf" | "profile";

/** The parts of the runtime's configuration that set the filter. */
export interface SeccompConfig {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly seccomp: object;
}

/** crun's name for a filter that is compiled already. It is called experimental there: see `crun.ts`. */
export const BPF_ANNOTATION = "run.oci.seccomp_bpf_data";

/** The profile for a crun that ignores the annotation: it refuses every call, so that no sandbox starts without a filter. */
const CLOSED = { defaultAction: "SCMP_ACT_KILL" } as const;

export function seccompConfig(form: SeccompForm, arch: Arch = process.arch === "arm64" ? "arm64" : "x64"): SeccompConfig {
  if (form === "profile") return { seccomp: seccompProfile(arch) };
  return { annotations: { [BPF_ANNOTATION]: Buffer.from(encode(compile(arch))).toString("base64") }, seccomp: CLOSED };
}
