import { commandTools } from "./commands.ts";
import { fileTools } from "./files.ts";
import { sandboxTools } from "./sandboxes.ts";
import { searchTools } from "./search.ts";
import { stateTools } from "./states.ts";
import type { Tool } from "./tool.ts";

/** Every tool, in the order in which clients see them. */
export const TOOLS: readonly Tool[] = [...sandboxTools, ...commandTools, ...fileTools, ...searchTools, ...stateTools];
