import { close, inNetworkNamespace, O, open } from "../sys/libc.ts";
import { Message, NLM_F, u32 } from "./netlink/message.ts";
import { NETLINK_SOCK_DIAG, NetlinkSocket } from "./netlink/socket.ts";

/* sock_diag(7); numbers of include/uapi/linux/{sock_diag,inet_diag}.h and include/net/tcp_states.h. */
const SOCK_DIAG_BY_FAMILY = 20;
const SOCK_DESTROY = 21;
const FAMILIES = [2, 10] as const;
const IPPROTO_TCP = 6;
const TCP = { timeWait: 6, close: 7, listen: 10 } as const;
/** Every state except listening, TIME_WAIT and closed. */
const CONNECTED = 0xfff & ~(1 << 0) & ~(1 << TCP.timeWait) & ~(1 << TCP.close) & ~(1 << TCP.listen);
/** `struct inet_diag_sockid`: ports, addresses, interface and cookie, at the same place in request and answer. */
const SOCKET_ID = { at: 4, bytes: 48 } as const;
/** Requests in one message. */
const BATCH = 200;
/** More would keep the server from other work for too long. */
const MAX_CONNECTIONS = 2_000;

/**
 * Closes every TCP connection in the network namespace of process `pid`: its processes see a reset, as they do after a restore from an image.
 * False when there are too many; then none is closed. Throws where the kernel was built without INET_DIAG_DESTROY.
 */
export function closeConnections(pid: number): boolean {
  const namespace = open(`/proc/${pid}/ns/net`, O.RDONLY);
  let netlink: NetlinkSocket | undefined;
  try {
    netlink = inNetworkNamespace(namespace, () => new NetlinkSocket(NETLINK_SOCK_DIAG));
    const closes = closeRequests(netlink);
    if (closes.length > MAX_CONNECTIONS) return false;
    for (let at = 0; at < closes.length; at += BATCH) netlink.request(...closes.slice(at, at + BATCH));
    return true;
  } finally {
    netlink?.close();
    close(namespace);
  }
}

/** For each connection the request that closes it. */
function closeRequests(netlink: NetlinkSocket): Message[] {
  return FAMILIES.flatMap((family) => {
    const head = [family, IPPROTO_TCP, 0, 0, ...u32(CONNECTED)];
    const list = new Message("list connections", SOCK_DIAG_BY_FAMILY, NLM_F.DUMP).bytes([...head, ...new Uint8Array(SOCKET_ID.bytes)]);
    return netlink.query(list).map(({ body }) => {
      const id = body.subarray(SOCKET_ID.at, SOCKET_ID.at + SOCKET_ID.bytes);
      return new Message("close a connection", SOCK_DESTROY, 0, ["ENOENT"]).bytes([...head, ...id]);
    });
  });
}
