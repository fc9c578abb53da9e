/**
 * Does one act after the other, each although others before it have failed. For clean-up: what one act leaves must not keep the next from its own part.
 * Throws the failure then; an `AggregateError` when there are several.
 */
export async function tryAll(acts: Iterable<() => unknown>): Promise<void> {
  const failures: unknown[] = [];
  for (const act of acts) {
    try {
      await act();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1)
    throw new AggregateError(failures, failures.map((error) => (error instanceof Error ? error.message : error)).join("; "));
}
