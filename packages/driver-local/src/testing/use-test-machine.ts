import { afterAll, beforeAll } from "bun:test";
import type { RuntimeName } from "../runtime/dialect.ts";
import { TestMachine } from "./machine.ts";

/** Set-up takes minutes where the machine is emulated. */
const SET_UP_MS = 600_000;

/** A machine for the tests of this file or `describe`. It is set up before the first test and released after the last. Default runtime: the driver's choice. */
export function useTestMachine(runtime?: RuntimeName): TestMachine {
  const machine = TestMachine.unmade(runtime);
  beforeAll(() => machine.setUp(), SET_UP_MS);
  afterAll(() => machine.dispose(), 60_000);
  return machine;
}
