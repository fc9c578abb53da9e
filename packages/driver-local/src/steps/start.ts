import type { Step } from "@boxyard/core";
import type { StartContext } from "../sandbox.ts";

export const start: Step<StartContext> = {
  name: "start",
  async run({ parts, record }) {
    parts.runtime.start(record.sandboxId);
  },
};
