import type { StepObserver } from "@boxyard/core";

/** What a build is made of, in order, for observers: kinds of steps as they may come, then what makes its result count. */
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

/** Does something that has a name, so that tests can put faults before and after it. */
export async function atPoint<T>(observer: StepObserver | undefined, point: string, work: () => Promise<T>): Promise<T> {
  await observer?.before?.(point);
  const result = await work();
  await observer?.after?.(point);
  return result;
}
