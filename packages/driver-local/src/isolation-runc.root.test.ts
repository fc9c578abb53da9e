import { isolationSuite } from "./testing/isolation.ts";

isolationSuite("runc");
