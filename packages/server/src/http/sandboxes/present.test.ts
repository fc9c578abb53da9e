import { expect, test } from "bun:test";
import type { SandboxState } from "@boxyard/core";
import { sampleRecord } from "../../store/sample-record.ts";
import { presentListed } from "./present.ts";

/** What clients are told of each state; of one that they cannot see, that there is no such sandbox. */
const TOLD = {
  creating: "sandbox_not_found",
  running: "running",
  snapshotting: "running",
  pausing: "paused",
  paused: "paused",
  resuming: "paused",
  failed: "sandbox_not_found",
  killing: "sandbox_not_found",
  dead: "sandbox_not_found",
} as const satisfies Readonly<Record<SandboxState, string>>;

function told(state: SandboxState): string {
  try {
    return presentListed(sampleRecord({ state })).state;
  } catch (error) {
    return (error as { reason?: string }).reason ?? String(error);
  }
}

test("each state is told as it is", () => {
  const states = Object.keys(TOLD) as SandboxState[];
  expect(Object.fromEntries(states.map((state) => [state, told(state)]))).toEqual(TOLD);
});
