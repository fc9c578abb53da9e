import { AppError } from "@boxyard/core";
import type { PoolStorage } from "../parts.ts";

const mib = (bytes: number) => `${Math.ceil(bytes / 2 ** 20)} MiB`;

/** The room that one pause or capture holds while it writes memory. Disposing releases it; repeatable. */
export interface RoomClaim extends Disposable {
  /**
   * Holds room for `bytes` of memory, instead of what this claim held before. Throws `resource_exhausted`, reason `no_room_for_memory`, when they would
   * use the reserve of the pool or of the disk below: a disk without any free space makes the pool read-only for all sandboxes.
   */
  take(bytes: number): void;
}

/**
 * The one owner of the room for memory that is being written. Each pause and capture gets what the others do not hold, because what they write is
 * not on the disk yet. What one has written so far counts twice until it is done, since a thin pool takes space on the disk below only at the flush
 * at the end. The file system compresses what CRIU writes, but by how much is known only afterwards: the size in memory counts. So a pause may be
 * refused that would have fitted. Other programs may write meanwhile, so the disk may still become full.
 */
export class RoomForMemory {
  private readonly storage: Pick<PoolStorage, "room">;
  private readonly held = new Map<RoomClaim, number>();

  constructor(storage: Pick<PoolStorage, "room">) {
    this.storage = storage;
  }

  /** A new claim, which holds nothing before its `take`. */
  claim(): RoomClaim {
    const claim: RoomClaim = {
      take: (bytes) => this.take(claim, bytes),
      [Symbol.dispose]: () => void this.held.delete(claim),
    };
    return claim;
  }

  private take(claim: RoomClaim, bytes: number): void {
    const others = [...this.held].reduce((sum, [other, held]) => (other === claim ? sum : sum + held), 0);
    const free = Math.max(0, this.storage.room().diskFreeBytes - others);
    if (bytes > free) throw noRoom(bytes, free, others);
    this.held.set(claim, bytes);
  }
}

function noRoom(bytes: number, free: number, others: number): AppError {
  const beside = others > 0 ? ` besides ${mib(others)} that others are writing now` : "";
  return new AppError(
    "resource_exhausted",
    `The sandbox's memory takes up to ${mib(bytes)}, and the storage pool has room for ${mib(free)}${beside}`,
    {
      reason: "no_room_for_memory",
    },
  );
}
