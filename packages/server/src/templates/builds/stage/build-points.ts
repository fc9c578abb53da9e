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
