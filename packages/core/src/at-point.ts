import type { StepObserver } from "./steps.ts";

/** Runs `work` as a named point, so that tests can inject faults before and after it. */
export async function atPoint<T>(observer: StepObserver | undefined, point: string, work: () => Promise<T>): Promise<T> {
  await observer?.before?.(point);
  const result = await work();
  await observer?.after?.(point);
  return result;
}
