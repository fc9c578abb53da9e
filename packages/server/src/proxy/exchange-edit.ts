import type { ResponseEdit } from "@boxyard/http1";

/** What the proxy changes of a request and of its answer. */
export interface ExchangeEdit {
  readonly response: ResponseEdit;
  /** Fields of the request (lower case) that the sandbox does not get. */
  readonly drops?: readonly string[];
  /** True: an upgrade may take place; the bytes after it pass unchanged. Without it an upgrade is refused. */
  readonly takesUpgrade?: boolean;
}
