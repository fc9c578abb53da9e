import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Step } from "@boxyard/core";
import { newBootId, writeBootId } from "../figures/boot-id.ts";
import { bundleConfig } from "../oci/config.ts";
import type { CreateContext } from "../sandbox/parts.ts";

/** Writes what the runtime reads (config.json) and what the agent reads (host/). The removal of the sandbox, which is registered, removes both. */
export const bundle: Step<CreateContext> = {
  name: "bundle",
  async run(ctx) {
    const { parts, spec, cgroup } = ctx;
    const bootId = newBootId();
    const record = { ...ctx.record, bootId };
    // Written with the record by the step after this one.
    ctx.record = record;
    const { cpuCount, memoryBytes, diskBytes, maxProcesses } = spec.resources;
    const facts = parts.paths.hostFacts(spec.sandboxId);
    // A paused sandbox that boots from its disk has the directory already.
    mkdirSync(facts, { recursive: true });
    writeBootId(facts, bootId);
    const figures = parts.figures?.make(spec.sandboxId, spec.resources) ?? [];
    const config = bundleConfig(
      {
        ...{ hostname: spec.hostname, uidBase: record.uidBase, cgroupDirectory: cgroup.top, memoryBytes, maxProcesses },
        restrictions: spec.restrictions ?? {},
        figures,
      },
      parts.machine,
    );
    const directory = parts.paths.bundle(spec.sandboxId);
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeFileSync(join(directory, "config.json"), JSON.stringify(config), { mode: 0o600 });
    const limits = join(facts, "limits.json");
    // A boot passes the key through standard input; the file is for restores.
    rmSync(parts.paths.initKey(spec.sandboxId), { force: true });
    writeFileSync(limits, JSON.stringify({ cpuCount, memoryBytes, diskBytes, maxProcesses }));
    // Whatever the umask is: the sandbox's users read these.
    chmodSync(facts, 0o755);
    chmodSync(limits, 0o644);
  },
};
