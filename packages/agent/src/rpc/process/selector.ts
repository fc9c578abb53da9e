import { AppError } from "@boxyard/core";
import type { ProcessSelector } from "@boxyard/spec/agent";
import type { Selector } from "../../process/commands.ts";

/** A selector as the request has it. Throws `invalid_argument` when it names nothing. */
export function selectorOf(selector: ProcessSelector | undefined): Selector {
  if (selector?.pid !== undefined) return { pid: selector.pid };
  if (selector?.tag !== undefined) return { tag: selector.tag };
  throw new AppError("invalid_argument", "process must name a pid or a tag", { reason: "no_selector" });
}
