import { expect, test } from "bun:test";
import type * as wire from "@boxyard/spec/platform-types";
import type { SandboxLogEntry, SandboxState } from "../sandbox/sandbox-info.ts";
import type { BuildLogEntry, BuildState } from "../template/template-info.ts";
import { text, texts, unchecked } from "./unchecked.ts";

test("members can be read from an answer of any type", () => {
  for (const value of [undefined, null, 7, "text", []]) expect(unchecked<wire.Sandbox>(value).sandboxID).toBeUndefined();
  expect(unchecked<wire.Sandbox>({ sandboxID: 5 }).sandboxID).toBe(5);
  expect([text("a"), text(5), text(null)]).toEqual(["a", undefined, undefined]);
  expect([texts(["a", 5, "b"]), texts("a"), texts(undefined)]).toEqual([["a", "b"], [], []]);
});

/** Accepts `true` alone; the compiler refuses this file where a public type and the schema's differ. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

test("words that clients see are those of the schemas", () => {
  const state: Same<SandboxState, wire.SandboxState> = true;
  const build: Same<BuildState, wire.TemplateBuildStatus> = true;
  const levels: Same<SandboxLogEntry["level"] | BuildLogEntry["level"], wire.LogLevel> = true;
  expect([state, build, levels]).toEqual([true, true, true]);
});
