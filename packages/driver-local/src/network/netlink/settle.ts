import { ptr } from "bun:ffi";
import { close, cstring, socket, trySyscall } from "../../sys/libc.ts";

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SIOCETHTOOL = 0x8946;
const ETHTOOL_GLINK = 0x0a;

/**
 * Makes a link of this thread's network namespace ready to send, now. A link whose peer has just come up drops what is sent through it
 * until a worker of the kernel's has heard of it, mostly some microseconds later, now and then much more: a first packet lost costs TCP
 * a second. Asking for the link's state does the worker's part at once (kernel 6.8, `linkwatch_sync_dev`); older kernels only answer.
 */
export function settleLink(name: string): void {
  const value = new Uint32Array([ETHTOOL_GLINK, 0]);
  const request = new Uint8Array(40); // struct ifreq
  request.set(cstring(name).subarray(0, 16));
  new DataView(request.buffer).setBigUint64(16, BigInt(ptr(value)), true);
  const fd = socket(AF_UNIX, SOCK_DGRAM, 0);
  try {
    // An answer of no is as good: nothing depends on it but the speed.
    trySyscall("ioctl", fd, SIOCETHTOOL, request, value);
  } finally {
    close(fd);
  }
}
