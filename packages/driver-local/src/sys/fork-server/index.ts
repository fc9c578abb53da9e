export { ForkServer, type ForkServerEnd, ParkedChild } from "./fork-server.ts";
export { ChildProgram, type Loaded, type Result } from "./program.ts";
