import { AppError } from "@boxyard/core";
import type { ProcessSelector } from "@boxyard/spec/agent";
import type { Selector } from "../commands.ts";

/** The selector of a request. Throws `unimplemented` for one without pid and tag, which the contract treats as an unknown kind. */
export function selectorOf(selector: ProcessSelector | undefined): Selector {
  if (selector?.pid !== undefined) return { pid: selector.pid };
  if (selector?.tag !== undefined) return { tag: selector.tag };
  throw new AppError("unimplemented", "process must name a pid or a tag", { reason: "no_selector" });
}
