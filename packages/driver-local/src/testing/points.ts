export interface Point {
  readonly when: "before" | "after";
  readonly name: string;
}

/**
 * Each point between two steps once: before each step, which is also after the step before it, because nothing runs between the two; and after those
 * of `ends`, where other code than the next step follows.
 */
export const pointsOf = (steps: readonly { readonly name: string }[], ends: readonly (string | undefined)[]): readonly Point[] =>
  steps.flatMap(({ name }) =>
    (ends.includes(name) ? (["before", "after"] as const) : (["before"] as const)).map((when) => ({ when, name })),
  );

/** The points of steps that run one after the other, the last one's end included. */
export const pointsOfAll = (steps: readonly { readonly name: string }[]): readonly Point[] => pointsOf(steps, [steps.at(-1)?.name]);
