import type { Step } from "@boxyard/core";
import type { CreateContext } from "../sandbox.ts";
import { removeCgroup } from "../teardown.ts";

/** Cgroups with their limits set, before any process is born in them. */
export const cgroup: Step<CreateContext> = {
  name: "cgroup",
  async run({ parts, spec, cgroup, record }, undo) {
    undo.add("cgroup", () => removeCgroup(parts, spec.sandboxId));
    cgroup.create(record.uidBase);
    cgroup.limit(spec.resources);
  },
};
