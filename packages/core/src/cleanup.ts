/**
 * A stack of undo actions, run last-in-first-out. It ignores cancellation, tries every entry even when one fails, and reports failures to
 * `onError` instead of hiding the first cause.
 */
export class Cleanup {
  private entries: { name: string; undo: () => unknown }[] = [];
  private readonly onError: (name: string, error: unknown) => void;
  private readonly before: ((name: string) => unknown) | undefined;

  /** `before` is called before each undo action, which fails when it throws. */
  constructor(onError: (name: string, error: unknown) => void = () => {}, before?: (name: string) => unknown) {
    this.onError = onError;
    this.before = before;
  }

  /** Registers an undo; call it before the deed. Undo actions must succeed when there is nothing to undo. */
  add(name: string, undo: () => unknown): void {
    this.entries.push({ name, undo });
  }

  /** The number of entries. */
  get size(): number {
    return this.entries.length;
  }

  /** A stack of its own with the entries after the first `size` of this one, which keeps them too. */
  copyAfter(size: number): Cleanup {
    const copy = new Cleanup(this.onError, this.before);
    copy.entries = this.entries.slice(size);
    return copy;
  }

  /** Forgets all entries: the deed is done. */
  disarm(): void {
    this.entries = [];
  }

  async run(): Promise<void> {
    for (let entry = this.entries.pop(); entry; entry = this.entries.pop()) {
      try {
        await this.before?.(entry.name);
        await entry.undo();
      } catch (error) {
        this.onError(entry.name, error);
      }
    }
  }
}
