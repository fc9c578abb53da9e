import { expect, test } from "bun:test";
import {
  JOIN_GROUPS,
  JOINS,
  MOVE_AND_BREAK,
  MOVE_AND_BREAK_ANSWER,
  notRefused,
} from "../../packages/driver-local/src/testing/machine-locks.ts";
import { usePlatform } from "../support/platform.ts";
import { createSandbox } from "../support/sandbox.ts";
import { python } from "./support/python.ts";

/* Attempts to take locks of the whole machine's kernel, each once. SECURITY.md points here by name. */

const platform = usePlatform();

test("no socket option takes the network lock, by which one sandbox kept the creates of all others waiting", async () => {
  await using sandbox = await createSandbox(platform());
  const lines = (await python(sandbox, JOIN_GROUPS)).stdout.trim().split("\n");
  expect([lines.length, notRefused(lines)]).toEqual([JOINS, ["sends"]]);
});

test("a process does not move between processors, and sets no breakpoint of one", async () => {
  await using sandbox = await createSandbox(platform());
  expect((await python(sandbox, MOVE_AND_BREAK)).stdout).toBe(MOVE_AND_BREAK_ANSWER);
});
