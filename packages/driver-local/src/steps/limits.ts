import { AppError, type Step } from "@boxyard/core";
import type { CreateContext } from "../sandbox.ts";
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

/** Limits that neither the OCI configuration nor a cgroup can hold; they belong to the user namespace that the runtime has just made. */
export const limits: Step<Pick<CreateContext, "record" | "parts">> = {
  name: "limits",
  async run({ record, parts }) {
    if (!record.process) throw new AppError("internal", "limits before create");
    const program = new ChildProgram();
    const path = `/proc/${record.process.pid}/ns/user`;
    const namespace = program.call("openat", [AT_FDCWD, path, O.RDONLY | O.CLOEXEC, 0], path);
    program.call("setns", [namespace, CLONE.NEWUSER], "user namespace");
    for (const [name, value] of Object.entries(USER_LIMITS)) program.writeFile(`/proc/sys/user/${name}`, String(value));
    await parts.forkServer.run(program, { limitMs: LIMITS_MS });
  },
};
