import { isolationSuite } from "./testing/isolation-suite.ts";

isolationSuite("runc");
