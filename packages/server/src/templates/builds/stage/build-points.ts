import type { StepObserver } from "@boxyard/core";

/** The points of a build for observers: the kinds of steps, then the writes of its result, in order. */
export const BUILD_POINTS = [
  "build base",
  "build USER",
  "build WORKDIR",
  "build ENV",
  "build COPY",
  "build RUN",
  "build finalize",
  "build start",
  "build facts",
  "build spec",
  "build tags",
  "build ready",
] as const;

export type BuildPoint = (typeof BUILD_POINTS)[number];

/** Runs `work` as a named point, so that tests can inject faults before and after it. */
export async function atPoint<T>(observer: StepObserver | undefined, point: string, work: () => Promise<T>): Promise<T> {
  await observer?.before?.(point);
  const result = await work();
  await observer?.after?.(point);
  return result;
}
