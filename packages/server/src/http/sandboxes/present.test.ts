import { expect, test } from "bun:test";
import type { SandboxState } from "@boxyard/core";
import { sampleRecord } from "../../store/sample-record.ts";
import { presentListed } from "./present.ts";

/** What clients see of each state; for states that clients cannot see, the reason of the error. */
const SHOWN = {
  creating: "sandbox_not_found",
  running: "running",
  snapshotting: "running",
  pausing: "paused",
  paused: "paused",
  resuming: "paused",
  rollingBack: "paused",
  rebooting: "paused",
  failed: "sandbox_not_found",
  killing: "sandbox_not_found",
  dead: "sandbox_not_found",
} as const satisfies Readonly<Record<SandboxState, string>>;

function shown(state: SandboxState): string {
  try {
    return presentListed(sampleRecord({ state }), { observations: { idleTimesOf: () => undefined, deletionOf: () => undefined } }).state;
  } catch (error) {
    return (error as { reason?: string }).reason ?? String(error);
  }
}

test("each state is shown as clients know it", () => {
  const states = Object.keys(SHOWN) as SandboxState[];
  expect(Object.fromEntries(states.map((state) => [state, shown(state)]))).toEqual(SHOWN);
});
