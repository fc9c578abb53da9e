import { test } from "bun:test";
import * as sdk from "./index.ts";
import { CASES, runCase } from "./testing/suite.ts";

for (const [name, run] of CASES) test(name, () => runCase(sdk, run));
