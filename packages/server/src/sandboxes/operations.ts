import { createOnce } from "./create/create-once.ts";
import type { AnyOperation } from "./engine/operation.ts";
import { fork } from "./snapshots/fork.ts";

/** Every operation; the suites of the transitions run over these too. */
export const OPERATIONS = { createOnce, fork } as const satisfies Readonly<Record<string, AnyOperation>>;
