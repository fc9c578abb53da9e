/* `@boxyard/sdk/tcp`: connections of any protocol to ports of sandboxes. For Node, Bun and Deno, which have sockets. */
export { connectTcp } from "./connect-tcp.ts";
/** @internal */
export { dial, openTcp, type TcpTarget } from "./open-tcp.ts";
