import { describe } from "bun:test";
import type { Subject } from "../subject.ts";
import { accountTests } from "./account.ts";
import { createTests, startTests } from "./create.ts";
import { damagedTests } from "./damaged.ts";
import { destroyTests, endTests } from "./end.ts";
import { freezeTests } from "./freeze.ts";
import { restartTests } from "./restart.ts";

/** Proves the guarantees of `RuntimeDriver`. */
export function runtimeTests(subject: Subject): void {
  describe("create", () => createTests(subject));
  describe("start", () => startTests(subject));
  describe("end", () => endTests(subject));
  describe("destroy", () => destroyTests(subject));
  describe("freeze", () => freezeTests(subject));
  describe("restart of the server", () => restartTests(subject));
  describe("a sandbox whose stored state is damaged", () => damagedTests(subject));
  describe("accounts", () => accountTests(subject));
}
