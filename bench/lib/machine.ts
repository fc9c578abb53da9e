import { cpus, release, totalmem } from "node:os";

/** The machine that figures were measured on: a figure means nothing without it. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly kernel: string;
  readonly bun: string;
}

export function machine(): Machine {
  return {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    kernel: release(),
    bun: Bun.version,
  };
}
