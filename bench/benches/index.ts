import type { Bench } from "../lib/bench.ts";
import { command } from "./command.ts";
import { compose } from "./compose.ts";
import { createCold } from "./create-cold.ts";
import { files } from "./files.ts";
import { proxy } from "./proxy.ts";
import { ptyEcho } from "./pty-echo.ts";
import { sdk } from "./sdk.ts";
import { transfer } from "./transfer.ts";

/** Every bench, in the order of SPECIFICATION.md's rows. */
export const benches: readonly Bench[] = [createCold, command, ptyEcho, transfer, files, compose, proxy, sdk];
