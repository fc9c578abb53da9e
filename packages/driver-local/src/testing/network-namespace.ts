/** For tests of other packages: sockets that `work` makes belong to another network namespace. */
export { inNetworkNamespace } from "../sys/libc.ts";
