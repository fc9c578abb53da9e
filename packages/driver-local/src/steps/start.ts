import type { Step } from "@boxyard/core";
import { isAlive } from "../runtime/process.ts";
import type { StartContext } from "../sandbox/parts.ts";

export const start: Step<StartContext> = {
  name: "start",
  async run({ parts, record }) {
    const { process } = record;
    await parts.runtime.start(record.sandboxId, () => process !== undefined && isAlive(process));
  },
};
