import type { Step } from "@boxyard/core";
import { writeRecord } from "../state/record.ts";
import { untilHealthy } from "../steps/await-agent.ts";
import { forgetFailedTrial, restoreOomScores } from "./frozen.ts";
import type { ResumeContext } from "./resume-context.ts";

/** As the step `claim` of a resume, but keeps link, address and processes of the incarnation that was paused. */
const takeOver: Step<ResumeContext> = {
  name: "takeOver",
  async run(ctx) {
    const { parts, spec } = ctx;
    const { incarnation, resources, network, labels } = spec;
    const lease = parts.networks.renew(ctx.record.lease, incarnation);
    const record = { ...ctx.record, incarnation, resources, network, labels, lease };
    try {
      await writeRecord(parts.paths.state(spec.sandboxId), record);
    } catch (error) {
      await parts.networks.detach(lease);
      throw error;
    }
    ctx.record = record;
  },
};

/** The agent goes on; commands go on after `/init`, as after a restore. */
const thaw: Step<ResumeContext> = {
  name: "thaw",
  async run({ parts, cgroup, record, generation, frozen }) {
    if (frozen) restoreOomScores(frozen);
    forgetFailedTrial(parts, record.sandboxId);
    cgroup.setFrozenBelow(["user", "pty", ...generation.frozenGroups], true);
    await parts.networks.reconnect(record.lease, record.network);
    cgroup.beginThaw();
  },
};

/** As `awaitAgent`, for an agent that listens already. */
const awaitThawed: Step<ResumeContext> = {
  name: "awaitThawed",
  run: ({ parts, record }, _undo, signal) => untilHealthy({ parts, record }, signal),
};

/** How a sandbox wakes whose processes are still in memory. */
export const wakeSteps: readonly Step<ResumeContext>[] = [takeOver, thaw, awaitThawed];
