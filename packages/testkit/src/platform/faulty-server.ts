import { localMachine, run } from "@boxyard/server/faults";
import { readTestConfig } from "../config.ts";
import { faultObserver } from "./faults.ts";

/* The real server, as its main.ts has it, with the faults that a test asks for. */

const { faultFile } = readTestConfig();
if (faultFile === undefined) throw new Error("no fault file is named");
const machine = localMachine({ driver: faultObserver(faultFile, "driver"), server: faultObserver(faultFile, "server") });
// No await at the top level, as in main.ts.
void run(process.argv.slice(2), machine).then((exitCode) => {
  process.exitCode = exitCode;
});
