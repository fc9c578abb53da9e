import { AppError } from "@boxyard/core";

/** What `work` comes to; `deadline_exceeded` when that takes longer than `ms`, and the work goes on by itself. */
export async function withLimit<T>(work: Promise<T>, ms: number): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new AppError("deadline_exceeded", "Removing the sandbox takes too long")), ms);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
