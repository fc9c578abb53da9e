import { isolationSuite } from "./testing/isolation-suite.ts";

isolationSuite("crun", "resumed");
