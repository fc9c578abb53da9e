import { AppError } from "@boxyard/core";
import type { ProcessSelector } from "@boxyard/spec/agent";
import type { Selector } from "../../process/commands.ts";

/** A selector as the request has it. Throws `unimplemented` when it names nothing: to the contract it is of a kind that we don't know. */
export function selectorOf(selector: ProcessSelector | undefined): Selector {
  if (selector?.pid !== undefined) return { pid: selector.pid };
  if (selector?.tag !== undefined) return { tag: selector.tag };
  throw new AppError("unimplemented", "process must name a pid or a tag", { reason: "no_selector" });
}
