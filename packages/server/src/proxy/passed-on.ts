import type { RequestHead } from "@boxyard/http1";
import type { ProxyProblem } from "./answers.ts";
import type { ClientAddress } from "./client-address.ts";

/** Knows the requests that other servers have passed on to this one. */
export interface PassedOn {
  /** How often; 0 for a request that does not say so. Undefined: it says so, and that is not true. */
  passesOf(request: RequestHead): number | undefined;
}

const MESSAGE = "The request says that a server of this platform has passed it on, and none has";

/** Of who claims to be one of the servers, to be believed what it says of its client. */
export const NOT_PASSED_ON: ProxyProblem = {
  status: 403,
  body: { code: 403, message: MESSAGE, error_code: "not_passed_on" },
  page: { title: "Not passed on", text: MESSAGE },
};

/** The address of the client of a request that a server has passed on: that server's peer is the last of those that it names. */
export const addressBefore =
  (clientAddress: ClientAddress = (peer) => peer): ClientAddress =>
  (_server, forwardedFor = "") => {
    const hops = forwardedFor.split(",");
    const peer = (hops.pop() ?? "").trim();
    return clientAddress(peer, hops.join(","));
  };
