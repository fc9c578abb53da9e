import { ptr } from "bun:ffi";
import { libc } from "./libc.ts";

/*
 * Peers that disappear without closing the connection: a laptop that sleeps, a link that drops packets. The kernel ends such a connection after about 15
 * minutes, and everything that serves it is kept for that time.
 *
 * Without bytes in flight the kernel's keep-alive probes the peer. With bytes in flight there is no keep-alive; the kernel retransmits up to 15 times.
 * TCP_USER_TIMEOUT would bound that, but it also ends a connection whose peer acknowledges and does not read (`boxyard exec … | less`). So this module
 * reads TCP_INFO: a peer that has not acknowledged retransmissions or probes for the whole time is lost.
 */

const SOL_SOCKET = 1;
const SO_KEEPALIVE = 9;
const IPPROTO_TCP = 6;
const TCP_KEEPIDLE = 4;
const TCP_KEEPINTVL = 5;
const TCP_KEEPCNT = 6;
const TCP_INFO = 11;

/** Offsets in `struct tcp_info`: retransmissions and probes since the last acknowledgement, and ms since then. */
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
  // After a failure the kernel's defaults apply.
  libc()?.setsockopt(descriptor, level, option, ptr(value), value.byteLength);
}

/** Makes the kernel end a connection without bytes in flight when its peer does not answer probes for so long. In whole seconds, at least 3. */
export function keepAlive(descriptor: number, limitMs: number): void {
  const limit = Math.max(3, Math.round(limitMs / 1000));
  const idle = Math.floor(limit / 3);
  const interval = Math.max(1, Math.floor(limit / 6));
  setOption(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, idle);
  setOption(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, interval);
  setOption(descriptor, IPPROTO_TCP, TCP_KEEPCNT, Math.ceil((limit - idle) / interval));
  setOption(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
}

/** Whether the peer has not acknowledged retransmissions or probes for so long. False where the kernel does not report it. */
export function isPeerLost(descriptor: number, limitMs: number): boolean {
  infoLength[0] = INFO_BYTES;
  const failed = libc()?.getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, ptr(info), ptr(infoLength));
  if (failed !== 0 || infoLength[0] !== INFO_BYTES) return false;
  const isAsked = (info[RETRANSMITS_AT] ?? 0) > 0 || (info[PROBES_AT] ?? 0) > 0;
  return isAsked && infoView.getUint32(LAST_ACK_AT, true) >= limitMs;
}
