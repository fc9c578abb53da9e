import { AppError, type Clock } from "@boxyard/core";
import type { Address } from "./addresses.ts";

export interface AddressPoolOptions {
  readonly first: Address;
  readonly last: Address;
  /** How long a freed address stays unused, so that a late packet for its last holder does not reach the next one; milliseconds. */
  readonly quarantineMs: number;
  readonly clock: Clock;
  /** Where an earlier pool stopped: offset from `first`, modulo the size of the range. Anything but a natural number means 0. */
  readonly cursor: number;
  /** Called every `STRIDE` addresses, with an offset at or beyond which no address has been given out yet. */
  readonly saveCursor: (offset: number) => void;
}

/** Addresses given out between two calls of `saveCursor`. */
const STRIDE = 256;

/**
 * Addresses for leases. They are given out in a circle, so that each is used again as late as possible. After a restart the circle goes on
 * beyond the last address given out; the pool does not write to the disk for each address.
 */
export class AddressPool {
  private readonly options: AddressPoolOptions;
  private readonly size: number;
  private readonly used = new Set<Address>();
  /** Freed addresses and when each may be used again, in the order of these times. */
  private readonly quarantined = new Map<Address, number>();
  private next: number;
  private untilSave = 0;

  constructor(options: AddressPoolOptions) {
    this.options = options;
    this.size = options.last - options.first + 1;
    const { cursor } = options;
    this.next = Number.isSafeInteger(cursor) && cursor >= 0 ? cursor % this.size : 0;
  }

  /** A free address. `resource_exhausted`, reason `no_addresses`, when every address is in use or in quarantine. */
  take(): Address {
    this.endQuarantines();
    if (this.used.size + this.quarantined.size >= this.size) {
      const message = `All ${this.size} sandbox addresses are in use or were just freed: end sandboxes, or set a larger BOXYARD_NETWORK`;
      throw new AppError("resource_exhausted", message, { reason: "no_addresses" });
    }
    for (;;) {
      const address = this.options.first + this.next;
      this.advance();
      if (this.used.has(address) || this.quarantined.has(address)) continue;
      this.used.add(address);
      return address;
    }
  }

  /** Marks an address as in use, also one in quarantine. False when it is outside the range. */
  reserve(address: Address): boolean {
    if (!this.covers(address)) return false;
    this.quarantined.delete(address);
    this.used.add(address);
    return true;
  }

  /** Frees an address; its quarantine begins. Nothing happens when it is not in use. */
  release(address: Address): void {
    if (!this.used.delete(address)) return;
    this.quarantined.set(address, this.options.clock.monotonic() + this.options.quarantineMs);
  }

  covers(address: Address): boolean {
    return address >= this.options.first && address <= this.options.last;
  }

  get inUse(): number {
    return this.used.size;
  }

  private endQuarantines(): void {
    const now = this.options.clock.monotonic();
    for (const [address, at] of this.quarantined) {
      if (at > now) return;
      this.quarantined.delete(address);
    }
  }

  private advance(): void {
    if (this.untilSave === 0) {
      // Saved before the addresses are given out: a server that dies after this line skips addresses, but never repeats one.
      this.options.saveCursor((this.next + STRIDE) % this.size);
      this.untilSave = STRIDE;
    }
    this.untilSave--;
    this.next = (this.next + 1) % this.size;
  }
}
