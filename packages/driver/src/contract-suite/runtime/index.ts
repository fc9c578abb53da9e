import { describe } from "bun:test";
import type { Subject } from "../subject.ts";
import { accountTests } from "./account.ts";
import { createTests, startTests } from "./create.ts";
import { damagedTests } from "./damaged.ts";
import { destroyTests, endTests } from "./end.ts";
import { freezeTests } from "./freeze.ts";
import { relabelTests } from "./relabel.ts";
import { resizeTests } from "./resize.ts";
import { restartTests } from "./restart.ts";

/** The guarantees of `RuntimeDriver` for processes: each test starts or ends some, so the runtime's program does the work. */
export function processTests(subject: Subject): void {
  describe("start", () => startTests(subject));
  describe("end", () => endTests(subject));
  describe("destroy", () => destroyTests(subject));
  describe("freeze", () => freezeTests(subject));
}

/** The guarantees of `RuntimeDriver` for what the driver stores and counts. */
export function recordTests(subject: Subject): void {
  describe("create", () => createTests(subject));
  describe("resize", () => resizeTests(subject));
  describe("relabel", () => relabelTests(subject));
  describe("restart of the server", () => restartTests(subject));
  describe("a sandbox whose stored state is damaged", () => damagedTests(subject));
  describe("accounts", () => accountTests(subject));
}
