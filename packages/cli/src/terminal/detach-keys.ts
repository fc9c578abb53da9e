/** Ctrl-]: the prefix of keys for boxyard instead of for the remote terminal. */
const PREFIX = 0x1d;
const DETACH = "d".charCodeAt(0);

export interface Typed {
  /** What goes to the remote terminal. */
  readonly input: Uint8Array;
  /** True when the keys to detach were typed; what follows them is dropped. */
  readonly detach: boolean;
}

/**
 * Finds Ctrl-] d in what is typed, also when it comes in pieces. Ctrl-] Ctrl-] is one Ctrl-] for the remote side; before any other key it is
 * passed on together with that key.
 */
export class DetachKeys {
  private pending = false;

  read(chunk: Uint8Array): Typed {
    const input: number[] = [];
    for (const key of chunk) {
      if (!this.pending) {
        if (key === PREFIX) this.pending = true;
        else input.push(key);
        continue;
      }
      this.pending = false;
      if (key === DETACH) return { input: Uint8Array.from(input), detach: true };
      if (key === PREFIX) input.push(PREFIX);
      else input.push(PREFIX, key);
    }
    return { input: Uint8Array.from(input), detach: false };
  }
}
