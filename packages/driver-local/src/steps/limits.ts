import { AppError, type Step } from "@boxyard/core";
import { BootIdMount } from "../figures/boot-id.ts";
import type { CreateContext, LocalParts } from "../sandbox/parts.ts";
import type { LocalSandboxRecord } from "../state/record.ts";
import { ChildProgram } from "../sys/fork-server/index.ts";
import { AT_FDCWD, CLONE, O } from "../sys/libc.ts";

/** Per user namespace, as the kernel counts them (user_namespaces(7), inotify(7)). Without these a sandbox can use up the machine's own. */
const USER_LIMITS = {
  max_user_namespaces: 0,
  max_inotify_instances: 64,
  max_inotify_watches: 65_536,
  max_fanotify_groups: 0,
} as const;

/** How long the writes of a few small files of the kernel may take. */
const LIMITS_MS = 10_000;

/** Limits that neither the OCI configuration nor a cgroup can hold, and the one mount that the runtime cannot make. */
export const limits: Step<Pick<CreateContext, "record" | "parts">> = {
  name: "limits",
  run: ({ record, parts }) => confine(parts, record, { mountBootId: true }),
};

/** Sets the limits of the user namespace that the runtime, or CRIU, has just made. `mountBootId`: shows the sandbox its own boot identity too. */
export async function confine(
  parts: Pick<LocalParts, "forkServer" | "paths">,
  { sandboxId, process }: LocalSandboxRecord,
  { mountBootId }: { readonly mountBootId: boolean },
): Promise<void> {
  if (!process) throw new AppError("internal", "limits before create");
  const program = new ChildProgram();
  const bootId = mountBootId ? new BootIdMount(program, parts.paths.hostFacts(sandboxId), process.pid) : undefined;
  const path = `/proc/${process.pid}/ns/user`;
  const namespace = program.call("openat", [AT_FDCWD, path, O.RDONLY | O.CLOEXEC, 0], path);
  program.call("setns", [namespace, CLONE.NEWUSER], "user namespace");
  for (const [name, value] of Object.entries(USER_LIMITS)) program.writeFile(`/proc/sys/user/${name}`, String(value));
  bootId?.attach();
  await parts.forkServer.run(program, { limitMs: LIMITS_MS });
}
