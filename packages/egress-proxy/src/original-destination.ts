import { ptr } from "bun:ffi";
import { lazyLibc } from "@boxyard/core/libc";
import type { Connection } from "@boxyard/http1";

const SOL_IP = 0;
const SO_ORIGINAL_DST = 80;
/** `struct sockaddr_in`: family, port, address, padding. */
const SOCKADDR_BYTES = 16;
const PORT_AT = 2;
const ADDRESS_AT = 4;

const libc = lazyLibc("getsockopt");
const socketAddress = new Uint8Array(SOCKADDR_BYTES);
const length = new Uint32Array(1);

/** The IPv4 address and the port that the sandbox asked for before the router led the connection here; undefined when the kernel does not know it. */
export function originalDestination(connection: Connection): { readonly address: string; readonly port: number } | undefined {
  length[0] = SOCKADDR_BYTES;
  const failed = libc().getsockopt(connection.descriptor, SOL_IP, SO_ORIGINAL_DST, ptr(socketAddress), ptr(length));
  if (failed !== 0) return undefined;
  const port = new DataView(socketAddress.buffer).getUint16(PORT_AT);
  return { address: socketAddress.subarray(ADDRESS_AT, ADDRESS_AT + 4).join("."), port };
}
