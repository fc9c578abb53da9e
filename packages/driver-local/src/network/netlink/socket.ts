import { bind, close, hasErrno, KernelError, recv, sendto, setsockopt, socket } from "../../sys/libc.ts";
import { type Message, NLM_F, NLMSG, parseReplies, type Reply } from "./message.ts";

const AF_NETLINK = 16;
const SOCK_RAW = 3;
const SOL_NETLINK = 270;
const NETLINK_CAP_ACK = 10;
const MSG_DONTWAIT = 0x40;
const NLM_F_DUMP_INTR = 0x10;
const DUMP_TRIES = 5;

export const NETLINK_ROUTE = 0;
export const NETLINK_SOCK_DIAG = 4;
export const NETLINK_NETFILTER = 12;

/** More than the largest part of a dump (NLMSG_GOODSIZE is 8 KiB; links with many queues take up to 32 KiB). */
const receiveBuffer = new Uint8Array(65536);
const sendBuffer = new Uint8Array(32768);

/**
 * A netlink socket. It stays in the network namespace in which the constructor ran. Requests are synchronous: the kernel handles them
 * within `send`, so the answers are ready when it returns, and nothing waits.
 */
export class NetlinkSocket {
  private fd: number;
  private seq = 1;

  constructor(protocol: number) {
    this.fd = socket(AF_NETLINK, SOCK_RAW, protocol);
    try {
      const address = new Uint8Array(12);
      address[0] = AF_NETLINK;
      bind(this.fd, address);
      setsockopt(this.fd, SOL_NETLINK, NETLINK_CAP_ACK, new Int32Array([1]));
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /**
   * Sends all messages in one call. The kernel handles them in order, each whether or not the previous one failed. Throws the first failure
   * that its message does not tolerate.
   */
  request(...messages: readonly Message[]): void {
    const first = this.seq;
    let length = 0;
    for (const message of messages) {
      const bytes = message.finish();
      if (length + bytes.length > sendBuffer.length) throw new KernelError(message.label, 90);
      sendBuffer.set(bytes, length);
      const view = new DataView(sendBuffer.buffer, length, 16);
      view.setUint16(6, view.getUint16(6, true) | NLM_F.ACK, true);
      view.setUint32(8, this.seq++, true);
      length += bytes.length;
    }
    sendto(this.fd, sendBuffer.subarray(0, length));
    let failure: KernelError | undefined;
    for (let answered = 0; answered < messages.length; ) {
      for (const reply of this.receive()) {
        const message = messages[reply.seq - first];
        if (!message || reply.type !== NLMSG.ERROR) continue;
        answered++;
        const errno = -new DataView(reply.body.buffer, reply.body.byteOffset).getInt32(0, true);
        if (errno === 0) continue;
        const error = new KernelError(message.label, errno);
        if (!hasErrno(error, ...message.tolerated)) failure ??= error;
      }
    }
    if (failure) throw failure;
  }

  /** The answers to a question: one reply, or all of a dump. `ENOENT` and the like are thrown. */
  query(message: Message): Reply[] {
    for (let attempt = 1; ; attempt++) {
      const { replies, interrupted } = this.queryOnce(message);
      if (!interrupted || attempt === DUMP_TRIES) return replies;
    }
  }

  private queryOnce(message: Message): { replies: Reply[]; interrupted: boolean } {
    const bytes = message.finish();
    const view = new DataView(bytes.buffer, bytes.byteOffset, 16);
    const isDump = (view.getUint16(6, true) & NLM_F.DUMP) === NLM_F.DUMP;
    const seq = this.seq++;
    view.setUint32(8, seq, true);
    sendto(this.fd, bytes);
    const replies: Reply[] = [];
    let interrupted = false;
    for (;;) {
      for (const reply of this.receive()) {
        if (reply.seq !== seq) continue;
        if (reply.flags & NLM_F_DUMP_INTR) interrupted = true;
        if (reply.type === NLMSG.DONE) return { replies, interrupted };
        if (reply.type === NLMSG.ERROR) {
          const errno = -new DataView(reply.body.buffer, reply.body.byteOffset).getInt32(0, true);
          if (errno !== 0) throw new KernelError(message.label, errno);
          return { replies, interrupted };
        }
        replies.push({ ...reply, body: reply.body.slice() });
        if (!isDump) return { replies, interrupted };
      }
    }
  }

  /** Messages that the kernel has sent by itself, of `most` datagrams. What it could not keep is lost. Never waits. */
  events(most: number): Reply[] {
    const events: Reply[] = [];
    for (let i = 0; i < most; i++) {
      try {
        for (const reply of this.receive()) events.push({ ...reply, body: reply.body.slice() });
      } catch (error) {
        if (hasErrno(error, "EAGAIN")) break;
        if (!hasErrno(error, "ENOBUFS")) throw error;
      }
    }
    return events;
  }

  private receive(): Generator<Reply> {
    const length = recv(this.fd, receiveBuffer, MSG_DONTWAIT);
    return parseReplies(receiveBuffer.subarray(0, length));
  }

  close(): void {
    if (this.fd < 0) return;
    close(this.fd);
    this.fd = -1;
  }
}
