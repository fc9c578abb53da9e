import type { Bench } from "../lib/bench.ts";
import { command } from "./command.ts";
import { createCold } from "./create-cold.ts";

/** Every bench, in the order of SPECIFICATION.md's rows. */
export const benches: readonly Bench[] = [createCold, command];
