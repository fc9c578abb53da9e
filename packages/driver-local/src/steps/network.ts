import { AppError, type Step } from "@boxyard/core";
import type { CreateContext } from "../sandbox/parts.ts";

/** Attaches the sandbox's link to the network namespace that the runtime made inside the sandbox's user namespace. */
export const network: Step<Pick<CreateContext, "parts" | "record">> = {
  name: "network",
  async run({ parts, record }) {
    if (!record.process) throw new AppError("internal", "network before create");
    await parts.networks.attach(record.lease, record.process.pid, record.network);
  },
};
