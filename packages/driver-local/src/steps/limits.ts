import { AppError, type Step } from "@boxyard/core";
import type { CreateContext } from "../sandbox.ts";
import { ChildProgram } from "../sys/child.ts";
import { CLONE, close, O, open } from "../sys/libc.ts";

/** Per user namespace, as the kernel counts them (user_namespaces(7), inotify(7)). Without these a sandbox takes the machine's own. */
const USER_LIMITS = {
  max_user_namespaces: 0,
  max_inotify_instances: 64,
  max_inotify_watches: 65_536,
  max_fanotify_groups: 0,
} as const;

/** Limits that neither the OCI configuration nor a cgroup can hold; they belong to the user namespace that the runtime has just made. */
export const limits: Step<Pick<CreateContext, "record">> = {
  name: "limits",
  async run({ record }) {
    if (!record.process) throw new AppError("internal", "limits before create");
    const userNs = open(`/proc/${record.process.pid}/ns/user`, O.RDONLY);
    try {
      const program = new ChildProgram();
      program.call("setns", [userNs, CLONE.NEWUSER], "user namespace");
      for (const [name, value] of Object.entries(USER_LIMITS)) program.writeFile(`/proc/sys/user/${name}`, String(value));
      program.run();
    } finally {
      close(userNs);
    }
  },
};
