/** What a client may find of a sandbox. */
export type Seen = "running" | "paused" | "gone";

/**
 * What must be true of one sandbox. After an operation whose answer was lost, more than one state and more than one content of its file are
 * possible; a look narrows them again.
 */
export interface Expected {
  readonly id: string;
  states: ReadonlySet<Seen>;
  /** Possible contents of the file that the worker writes. */
  contents: ReadonlySet<number>;
  /** Last number seen of the process that counts in memory: it never goes back, also over a pause. */
  ticks: number;
}

/** An operation: what it makes of a sandbox when it succeeds. */
export interface Effect {
  readonly state?: Seen;
  readonly content?: number;
}

/** The operation has succeeded. */
export function succeeded(expected: Expected, { state, content }: Effect): void {
  if (state) expected.states = new Set([state]);
  if (content !== undefined) expected.contents = new Set([content]);
}

/** Nobody knows whether the operation took place. */
export function unknown(expected: Expected, { state, content }: Effect): void {
  if (state) expected.states = new Set([...expected.states, state]);
  if (content !== undefined) expected.contents = new Set([...expected.contents, content]);
}
