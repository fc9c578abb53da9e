import type { AnySequence } from "./engine/sequence.ts";
import { fork } from "./snapshots/fork.ts";

/** Every list of steps over several sandboxes; the suites of the transitions run over these too. */
export const SEQUENCES = { fork } as const satisfies Readonly<Record<string, AnySequence>>;
