import { closeSync, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { AppError } from "@boxyard/core";

/** Where btrfs keeps copies of its superblock. */
const COPIES = [64 * 1024, 64 * 1024 ** 2, 256 * 1024 ** 3];
const BYTES = 4096;
/** struct btrfs_super_block (include/uapi/linux/btrfs_tree.h): offsets in it. */
const AT = { checksummed: 32, fsid: 32, magic: 64, incompatible: 188, checksumType: 196, metadataId: 571 } as const;
const MAGIC = "_BHRfS_M";
/** Flag: blocks of metadata contain another id than the file system's (kernel 5.0). */
const METADATA_UUID = 1n << 10n;
const ID_BYTES = 16;

/**
 * Gives the btrfs in `image`, which must not be mounted, a new id. Needed for copies: the kernel does not mount two file systems with one id, and
 * set-up distinguishes pools by it. (A recent `btrfstune` could do the same.) `data_loss` when there is no btrfs in the file.
 */
export function renewPoolId(image: string): void {
  const id = crypto.getRandomValues(new Uint8Array(ID_BYTES));
  const fd = openSync(image, "r+");
  try {
    const { size } = fstatSync(fd);
    for (const offset of COPIES.filter((copy) => copy + BYTES <= size)) {
      const block = Buffer.alloc(BYTES);
      readSync(fd, block, 0, BYTES, offset);
      renew(block, id, image);
      writeSync(fd, block, 0, BYTES, offset);
    }
  } finally {
    closeSync(fd);
  }
}

function renew(block: Buffer, id: Uint8Array, image: string): void {
  if (block.toString("latin1", AT.magic, AT.magic + MAGIC.length) !== MAGIC || block.readUInt16LE(AT.checksumType) !== 0) {
    throw new AppError("data_loss", `there is no btrfs with CRC32C checksums in ${image}: make it anew`, { reason: "no_btrfs" });
  }
  const flags = block.readBigUInt64LE(AT.incompatible);
  if ((flags & METADATA_UUID) === 0n) block.copy(block, AT.metadataId, AT.fsid, AT.fsid + ID_BYTES);
  block.writeBigUInt64LE(flags | METADATA_UUID, AT.incompatible);
  block.set(id, AT.fsid);
  block.writeUInt32LE(crc32c(block.subarray(AT.checksummed)), 0);
}

/** CRC-32C (Castagnoli), reflected. */
function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return ~crc >>> 0;
}
