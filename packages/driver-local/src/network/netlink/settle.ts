import { ptr } from "bun:ffi";
import { close, cstring, socket, trySyscall } from "../../sys/libc.ts";

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SIOCETHTOOL = 0x8946;
const ETHTOOL_GLINK = 0x0a;

/**
 * Makes a link of this thread's network namespace ready to send, at once. A link whose peer has just come up drops packets until a worker of
 * the kernel has handled the event: mostly some microseconds later, sometimes much later. When its first packet is lost, TCP waits a second.
 * A request for the link's state makes the kernel (6.8 or later, `linkwatch_sync_dev`) handle the event at once; older kernels only answer.
 */
export function settleLink(name: string): void {
  const value = new Uint32Array([ETHTOOL_GLINK, 0]);
  const request = new Uint8Array(40); // struct ifreq
  request.set(cstring(name).subarray(0, 16));
  new DataView(request.buffer).setBigUint64(16, BigInt(ptr(value)), true);
  const fd = socket(AF_UNIX, SOCK_DGRAM, 0);
  try {
    // A failure is ignored: only the speed of the first packet depends on it.
    trySyscall("ioctl", fd, SIOCETHTOOL, request, value);
  } finally {
    close(fd);
  }
}
