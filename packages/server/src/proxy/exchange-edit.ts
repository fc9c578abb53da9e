import type { ResponseEdit } from "@boxyard/http1";
import type { ProxyProblem } from "./answers.ts";

/** What the proxy changes of a request and of its answer. */
export interface ExchangeEdit {
  readonly response?: ResponseEdit;
  /** Fields of the request (lower case) that the sandbox does not get. */
  readonly drops?: readonly string[];
  /** The field `Cookie` that the sandbox gets in place of the request's own; empty: none. */
  readonly cookie?: string | undefined;
  /** The request was let in by a link of its port, so it ends when the links of that port are withdrawn. */
  readonly isLinked?: boolean;
  /** True: an upgrade may take place; the bytes after it pass unchanged. Without it an upgrade is refused. */
  readonly takesUpgrade?: boolean;
  /** Lines of fields to add to the request, each with its line end. */
  readonly added?: string;
  /** Takes over a request that could not be sent, with what has come of its body; by default it is answered as of a closed port. */
  readonly onUnreached?: (early: readonly Buffer[], error: unknown) => void;
  /** Called with the status of the answer, when its head has come. */
  readonly onAnswer?: (status: number) => void;
  /** The answer in place of one that does not come; by default as of a closed port. */
  readonly problem?: ProxyProblem;
}
