import type { ResponseEdit } from "@boxyard/http1";

/** What is changed of a request and its answer on the way. */
export interface ExchangeEdit {
  readonly response: ResponseEdit;
  /** Fields of the request (lower case) that the sandbox does not get. */
  readonly drops?: readonly string[];
  /** The answer to an upgrade passes as it is: what follows it is no document. */
  readonly takesUpgrade?: boolean;
}
