import type { RequestHead } from "@boxyard/http1";
import type { SandboxTarget } from "./dispatch.ts";
import type { ExchangeEdit } from "./exchange-edit.ts";
import { editByPath } from "./path-form.ts";
import type { LinkedRequest, LinkState } from "./port-link.ts";

/** Where a request goes, and as what. */
export interface Passage {
  readonly sandboxId: string;
  readonly port: number;
  readonly link: LinkState;
  readonly edit: ExchangeEdit | undefined;
}

/** What is changed of a request and its answer; undefined: nothing. */
export function editOf(request: RequestHead, { innerTarget }: SandboxTarget, { link, cookie }: LinkedRequest): ExchangeEdit | undefined {
  const byPath = innerTarget === undefined ? undefined : editByPath(request);
  if (link !== "good" && cookie === undefined) return byPath;
  return { takesUpgrade: true, ...byPath, isLinked: link === "good", cookie };
}
