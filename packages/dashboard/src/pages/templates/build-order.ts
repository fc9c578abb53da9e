import type { TemplateBuildStartV2, TemplateStep } from "@boxyard/spec/platform-types";

/** What the form says. */
export interface Wish {
  readonly from: "template" | "image";
  readonly base: string;
  readonly commands: string;
  readonly start: string;
}

/** The order of a build: each line of the commands is one RUN, as root. */
export function orderOf({ from, base, commands, start }: Wish): TemplateBuildStartV2 {
  const steps: TemplateStep[] = commands
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => ({ type: "RUN", args: [line.trim(), "root"] }));
  return {
    ...(from === "template" ? { fromTemplate: base } : { fromImage: base }),
    steps,
    ...(start.trim() !== "" && { startCmd: start.trim() }),
  };
}
