/** Certificates that each sandbox may cause at once, and so many a second after that: a signature is the server's own work. */
const AT_ONCE = 100;
const PER_SECOND = 5;

interface Share {
  left: number;
  /** Monotonic ms. */
  at: number;
}

/** Bounds how many certificates sandboxes cause: one whose rules are for every name below a host could ask for new names without end. */
export class SigningShares {
  private readonly now: () => number;
  private readonly shares = new Map<string, Share>();

  /** `now`: monotonic ms. */
  constructor(now: () => number) {
    this.now = now;
  }

  /** Whether the sandbox with this address may cause another one; takes it from its share. */
  take(address: string): boolean {
    const now = this.now();
    const share = this.shares.get(address) ?? { left: AT_ONCE, at: now };
    share.left = Math.min(AT_ONCE, share.left + ((now - share.at) / 1000) * PER_SECOND);
    share.at = now;
    this.shares.set(address, share);
    if (share.left < 1) return false;
    share.left -= 1;
    return true;
  }

  forget(address: string): void {
    this.shares.delete(address);
  }
}
