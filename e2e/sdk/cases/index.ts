import { COMMANDS } from "./commands.ts";
import { FILES } from "./files.ts";
import type { Case } from "./kit.ts";
import { OPTIONS } from "./options.ts";
import { SANDBOXES } from "./sandboxes.ts";
import { STREAMS } from "./streams.ts";
import { TERMINALS } from "./terminals.ts";
import { VOLUMES } from "./volumes.ts";

export type { Case, Subject } from "./kit.ts";

/** What every runtime is walked through; a case gets a sandbox of its own. */
export const CASES: readonly Case[] = [...COMMANDS, ...OPTIONS, ...TERMINALS, ...SANDBOXES, ...FILES, ...STREAMS, ...VOLUMES];
