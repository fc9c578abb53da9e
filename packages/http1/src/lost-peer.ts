import { ptr } from "bun:ffi";
import { libc } from "./libc.ts";

/*
 * Peers that disappear without closing the connection: a laptop that sleeps, a link that drops packets. The kernel gives such a connection up after a quarter of
 * an hour, and what works for it is held that long.
 *
 * While nothing is on its way, the kernel's keep-alive asks the peer. While something is, keep-alive rests and the kernel sends again, up to
 * 15 times. TCP_USER_TIMEOUT would bound that, but it also ends a connection whose peer answers and does not read (`boxyard exec … | less`).
 * So the program looks by itself: a peer that has left what was sent again, or a probe, without an answer for the whole time is gone.
 */

const SOL_SOCKET = 1;
const SO_KEEPALIVE = 9;
const IPPROTO_TCP = 6;
const TCP_KEEPIDLE = 4;
const TCP_KEEPINTVL = 5;
const TCP_KEEPCNT = 6;
const TCP_INFO = 11;

/** Of `struct tcp_info`: two counts of what was sent again since the last answer, and ms since then. */
const RETRANSMITS_AT = 2;
const PROBES_AT = 3;
const LAST_ACK_AT = 56;
const INFO_BYTES = 60;

const value = new Int32Array(1);
const info = new Uint8Array(INFO_BYTES);
const infoView = new DataView(info.buffer);
const infoLength = new Uint32Array(1);

function setOption(descriptor: number, level: number, option: number, to: number): void {
  value[0] = to;
  // A failure leaves the kernel's own times.
  libc()?.setsockopt(descriptor, level, option, ptr(value), value.byteLength);
}

/** Lets the kernel end a connection on which nothing is on its way, when the peer is silent for so long. Whole seconds, 3 at least. */
export function keepAlive(descriptor: number, limitMs: number): void {
  const limit = Math.max(3, Math.round(limitMs / 1000));
  const idle = Math.floor(limit / 3);
  const interval = Math.max(1, Math.floor(limit / 6));
  setOption(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, idle);
  setOption(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, interval);
  setOption(descriptor, IPPROTO_TCP, TCP_KEEPCNT, Math.ceil((limit - idle) / interval));
  setOption(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
}

/** Whether the peer has been asked again and has not answered for so long. False where that can't be known. */
export function isPeerLost(descriptor: number, limitMs: number): boolean {
  infoLength[0] = INFO_BYTES;
  const failed = libc()?.getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, ptr(info), ptr(infoLength));
  if (failed !== 0 || infoLength[0] !== INFO_BYTES) return false;
  const isAsked = (info[RETRANSMITS_AT] ?? 0) > 0 || (info[PROBES_AT] ?? 0) > 0;
  return isAsked && infoView.getUint32(LAST_ACK_AT, true) >= limitMs;
}
