import { AppError, type Clock } from "@boxyard/core";
import type { Address } from "./addresses.ts";

export interface AddressPoolOptions {
  readonly first: Address;
  readonly last: Address;
  /** How long a freed address is left alone, so that nothing late meant for its last holder reaches the next; milliseconds. */
  readonly quarantineMs: number;
  readonly clock: Clock;
  /** Where an earlier pool stopped: offset from `first`. A number beyond the range is folded into it. */
  readonly cursor: number;
  /** Called with an offset that no address was given out beyond; rarely (every `STRIDE` addresses). */
  readonly saveCursor: (offset: number) => void;
}

/** Addresses given out between two calls of `saveCursor`. */
const STRIDE = 256;

/**
 * Addresses for leases. They are given out in a circle, so that one comes back as late as can be; after a restart the circle goes on
 * beyond the last one given out, without a write for each.
 */
export class AddressPool {
  private readonly options: AddressPoolOptions;
  private readonly size: number;
  private readonly used = new Set<Address>();
  /** Freed addresses and when they may be used again, in that order. */
  private readonly resting = new Map<Address, number>();
  private next: number;
  private untilSave = 0;

  constructor(options: AddressPoolOptions) {
    this.options = options;
    this.size = options.last - options.first + 1;
    const { cursor } = options;
    this.next = Number.isSafeInteger(cursor) && cursor >= 0 ? cursor % this.size : 0;
  }

  /** A fresh address. `resource_exhausted`, reason `no_addresses`, when every one is in use or resting. */
  take(): Address {
    this.wakeRested();
    if (this.used.size + this.resting.size >= this.size) {
      const message = `All ${this.size} sandbox addresses are in use or were just freed: end sandboxes, or set a larger BOXYARD_NETWORK`;
      throw new AppError("resource_exhausted", message, { reason: "no_addresses" });
    }
    for (;;) {
      const address = this.options.first + this.next;
      this.advance();
      if (this.used.has(address) || this.resting.has(address)) continue;
      this.used.add(address);
      return address;
    }
  }

  /** Marks an address as in use, also one that rests. False when it is outside the range. */
  reserve(address: Address): boolean {
    if (!this.covers(address)) return false;
    this.resting.delete(address);
    this.used.add(address);
    return true;
  }

  /** Frees an address; it rests first. Nothing happens when it is not in use. */
  release(address: Address): void {
    if (!this.used.delete(address)) return;
    this.resting.set(address, this.options.clock.monotonic() + this.options.quarantineMs);
  }

  covers(address: Address): boolean {
    return address >= this.options.first && address <= this.options.last;
  }

  get inUse(): number {
    return this.used.size;
  }

  private wakeRested(): void {
    const now = this.options.clock.monotonic();
    for (const [address, at] of this.resting) {
      if (at > now) return;
      this.resting.delete(address);
    }
  }

  private advance(): void {
    if (this.untilSave === 0) {
      // Saved ahead: a death right after this line wastes addresses, it never repeats them.
      this.options.saveCursor((this.next + STRIDE) % this.size);
      this.untilSave = STRIDE;
    }
    this.untilSave--;
    this.next = (this.next + 1) % this.size;
  }
}
