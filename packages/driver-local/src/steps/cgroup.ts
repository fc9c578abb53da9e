import type { Step } from "@boxyard/core";
import type { CreateContext } from "../sandbox/parts.ts";

/** Cgroups with their limits set, before any process is born in them. */
export const cgroup: Step<CreateContext> = {
  name: "cgroup",
  async run(ctx, undo) {
    const { parts, spec, cgroup, record } = ctx;
    // The removal of the sandbox removes the cgroups. A child that has not become the runtime is in them, so it is ended first.
    undo.add("child", () => ctx.child?.discard());
    const child = parts.spareChildren.take(spec.sandboxId);
    if (child) ctx.child = child;
    cgroup.create(record.uidBase, child !== undefined);
    cgroup.limit(spec.resources);
  },
};
