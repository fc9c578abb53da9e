const PROGRESS_BYTES = 4 << 20;

/** Counts the bytes that were read, and reports the count every few MiB. */
export class Count {
  private total = 0;
  private told = 0;
  private readonly onProgress: (bytesRead: number) => void;

  constructor(onProgress: (bytesRead: number) => void) {
    this.onProgress = onProgress;
  }

  add(bytes: number): void {
    this.total += bytes;
    if (this.total - this.told >= PROGRESS_BYTES) this.tell();
  }

  tell(): void {
    if (this.total > this.told) this.onProgress(this.total);
    this.told = this.total;
  }
}
