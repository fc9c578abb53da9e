import { isolationSuite } from "./testing/isolation-suite.ts";

isolationSuite("crun", "forked");
isolationSuite("crun", "from the disk of a snapshot");
