import type { Bench } from "../lib/bench.ts";
import { command } from "./command.ts";
import { createCold } from "./create-cold.ts";
import { proxy } from "./proxy.ts";
import { sdk } from "./sdk.ts";
import { transfer } from "./transfer.ts";

/** Every bench, in the order of SPECIFICATION.md's rows. */
export const benches: readonly Bench[] = [createCold, command, transfer, proxy, sdk];
