import { copyFileSync, fstatSync, ftruncateSync, renameSync, rmSync } from "node:fs";

export interface RotationOptions {
  /** The log, open for appending (`O_APPEND`), perhaps by several processes. */
  readonly fd: number;
  readonly path: string;
  /** Size in bytes from which on the log is rotated. */
  readonly maxBytes: number;
  /** How many older ones are kept, as `path.1` (the newest) and so on. */
  readonly keep: number;
}

/**
 * Keeps a log within a size. The log is copied and then cut to nothing, not renamed: other processes, and whatever this one prints when it crashes,
 * write to the same open file. Where there is no room for a copy, what the log holds is dropped.
 */
export class LogRotation {
  private readonly options: RotationOptions;
  /** Bytes to write before the size is checked again. */
  private untilLook = 0;

  constructor(options: RotationOptions) {
    this.options = options;
  }

  /** To be called after a write. True when the log was rotated. Never throws. */
  wrote(bytes: number): boolean {
    this.untilLook -= bytes;
    if (this.untilLook > 0) return false;
    const { fd, maxBytes } = this.options;
    try {
      const { size } = fstatSync(fd);
      this.untilLook = Math.max(1, maxBytes - size);
      if (size < maxBytes) return false;
      this.putAside();
      ftruncateSync(fd, 0);
      this.untilLook = maxBytes;
      return true;
    } catch {
      // Tried again with the next line.
      return false;
    }
  }

  private putAside(): void {
    const { path, keep } = this.options;
    const older = (n: number) => `${path}.${n}`;
    rmSync(older(Math.max(1, keep)), { force: true });
    if (keep === 0) return;
    for (let n = keep - 1; n >= 1; n--) {
      try {
        renameSync(older(n), older(n + 1));
      } catch {
        // There are not that many yet.
      }
    }
    try {
      copyFileSync(path, older(1));
    } catch {
      rmSync(older(1), { force: true });
    }
  }
}
