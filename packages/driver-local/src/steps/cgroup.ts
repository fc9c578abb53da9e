import type { Step } from "@boxyard/core";
import type { CreateContext } from "../sandbox.ts";
import { removeCgroup } from "../teardown.ts";

/** Cgroups with their limits set, before any process is born in them. */
export const cgroup: Step<CreateContext> = {
  name: "cgroup",
  async run(ctx, undo) {
    const { parts, spec, cgroup, record } = ctx;
    undo.add("cgroup", () => {
      ctx.child?.discard();
      return removeCgroup(parts, spec.sandboxId);
    });
    const child = parts.waitingRoom.take(spec.sandboxId);
    if (child) ctx.child = child;
    cgroup.create(record.uidBase, child !== undefined);
    cgroup.limit(spec.resources);
  },
};
