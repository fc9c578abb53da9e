import type { Clock } from "@boxyard/core";
import { close, hasErrno, inNetworkNamespace, O, socket, trySyscall } from "../sys/libc.ts";

const AF_INET = 2;
const AF_INET6 = 10;
const SOCK_STREAM = 1;
const EINPROGRESS = -115;
const POLLOUT = 4;
const FIRST_RETRY_MS = 5;
const LAST_RETRY_MS = 500;

/**
 * Connects to a service on a loopback address of a network namespace, which no packet from outside reaches: the socket is made inside, and a
 * socket stays in the namespace it was made in, also in another process. Tries 127.0.0.1, then ::1. Returns a non-blocking descriptor, which the
 * caller closes; undefined when nothing listens.
 */
export async function connectInside(namespace: number, port: number, clock: Clock, signal: AbortSignal): Promise<number | undefined> {
  for (const [family, address] of [
    [AF_INET, ipv4Loopback(port)],
    [AF_INET6, ipv6Loopback(port)],
  ] as const) {
    const fd = await dial(namespace, family, address, clock, signal);
    if (fd !== undefined) return fd;
  }
  return undefined;
}

async function dial(
  namespace: number,
  family: number,
  address: Uint8Array,
  clock: Clock,
  signal: AbortSignal,
): Promise<number | undefined> {
  const fd = open(namespace, family);
  if (fd === undefined) return undefined;
  let isConnected = false;
  try {
    const begun = trySyscall("connect", fd, address, address.byteLength);
    isConnected = begun === 0 || (begun === EINPROGRESS && (await becomesConnected(fd, clock, signal)));
    return isConnected ? fd : undefined;
  } finally {
    if (!isConnected) close(fd);
  }
}

function open(namespace: number, family: number): number | undefined {
  try {
    return inNetworkNamespace(namespace, () => socket(family, SOCK_STREAM | O.NONBLOCK, 0));
  } catch (error) {
    // A kernel without IPv6.
    if (hasErrno(error, "EAFNOSUPPORT")) return undefined;
    throw error;
  }
}

/** On loopback a connection is made or refused when connect(2) returns, unless the listener's queue is full: then the kernel retries, and we wait. */
async function becomesConnected(fd: number, clock: Clock, signal: AbortSignal): Promise<boolean> {
  for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(LAST_RETRY_MS, 2 * waitMs)) {
    // struct pollfd: descriptor, then requested and returned events, two bytes each.
    const poll = new Int32Array([fd, POLLOUT]);
    if (trySyscall("ppoll", poll, 1, new BigInt64Array(2), null, 8) > 0) return (poll[1] ?? 0) >>> 16 === POLLOUT;
    await clock.sleep(waitMs, signal);
  }
}

/** `struct sockaddr_in` of 127.0.0.1. */
function ipv4Loopback(port: number): Uint8Array {
  const address = new Uint8Array(16);
  const view = new DataView(address.buffer);
  view.setUint16(0, AF_INET, true);
  view.setUint16(2, port);
  address.set([127, 0, 0, 1], 4);
  return address;
}

/** `struct sockaddr_in6` of ::1. */
function ipv6Loopback(port: number): Uint8Array {
  const address = new Uint8Array(28);
  const view = new DataView(address.buffer);
  view.setUint16(0, AF_INET6, true);
  view.setUint16(2, port);
  address[23] = 1;
  return address;
}
