import { resolve } from "node:path";
import { bundleOrSource, DRIVER_TEST_PROGRAMS } from "@boxyard/testkit";

const CHECKOUT = resolve(import.meta.dir, "../../../..");

/** The path of a program that kills itself at a step: its bundle where the test run has made it. Tests start these programs about a hundred times. */
export const testProgram = (name: keyof typeof DRIVER_TEST_PROGRAMS): string =>
  resolve(CHECKOUT, bundleOrSource(DRIVER_TEST_PROGRAMS[name]));
