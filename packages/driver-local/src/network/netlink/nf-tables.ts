import { hasErrno } from "../../sys/libc.ts";
import { Message, NLM_F, parseAttributes, readText } from "./message.ts";
import type { NetlinkSocket } from "./socket.ts";

const NFT_MSG_GETCHAIN = (10 << 8) | 4;
const NFPROTO_INET = 1;
const GENERIC_HEADER_BYTES = 4;
const NFTA_CHAIN = { TABLE: 1, NAME: 3 } as const;

/** True when the chain exists in the namespace of the (NETLINK_NETFILTER) socket. Starts no process. */
export function hasChain(netlink: NetlinkSocket, table: string, chain: string): boolean {
  const message = new Message(`find chain ${table} ${chain}`, NFT_MSG_GETCHAIN, 0)
    .bytes([NFPROTO_INET, 0, 0, 0])
    .attrText(NFTA_CHAIN.TABLE, table)
    .attrText(NFTA_CHAIN.NAME, chain);
  try {
    return netlink.query(message).length > 0;
  } catch (error) {
    if (hasErrno(error, "ENOENT")) return false;
    throw error;
  }
}

/** Names of the chains of a table of the inet family; none when there is no such table. */
export function listChains(netlink: NetlinkSocket, table: string): string[] {
  const message = new Message(`list chains of ${table}`, NFT_MSG_GETCHAIN, NLM_F.DUMP).bytes([NFPROTO_INET, 0, 0, 0]);
  return netlink.query(message).flatMap(({ body }) => {
    const attributes = parseAttributes(body, GENERIC_HEADER_BYTES);
    return readText(attributes.get(NFTA_CHAIN.TABLE)) === table ? [readText(attributes.get(NFTA_CHAIN.NAME))] : [];
  });
}
