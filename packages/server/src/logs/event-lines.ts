import type { EndCause, PauseCause, SandboxLogLine, SandboxRecord, StoreEvent } from "../store/index.ts";

/** Why a sandbox ended, in words for its owner. */
const CAUSES: Readonly<Record<EndCause, string>> = {
  requested: "it was killed on request",
  timeout: "its time was up",
  pause_failed: "its time was up, and it could not be paused",
  create_failed: "its creation failed",
  agent_exited: "its agent ended",
  killed: "the machine killed it",
  out_of_memory: "it ran out of memory",
  uncounted_memory: "it took memory of the machine that no limit counts",
  memory_lost: "its memory could not be brought back after a resume",
  out_of_disk: "it wrote more than its disk has",
  evicted: "the cluster took it from its node, which was short of memory or disk, or was emptied",
  node_lost: "the node that it ran on was lost",
  unknown: "the cause is not known",
  lost: "it was found missing",
  unresponsive: "its agent no longer answered",
  unfinished: "the server ended while it was being made",
  released: "the operator removed all sandboxes",
  setup_abandoned: "the client that prepared it under its name has gone",
  retention: "it was paused for too long, or too many others were",
  idle: "it was idle for too long",
  owner_gone: "the server that built in it ended",
};
/** Why a sandbox was paused, behind a comma. */
const PAUSES: Readonly<Record<PauseCause, string>> = {
  requested: "",
  idle: ", because it was idle for too long",
  timeout: ", because its time was up",
};
const ORDERLY: ReadonlySet<unknown> = new Set(["requested", "timeout", "idle", "retention", "released"]);

export type LogText = Pick<SandboxLogLine, "level" | "message" | "fields">;

/** Whether an event gives a line of its sandbox's log; most events do not. */
export function isLogged({ action, before }: StoreEvent): boolean {
  const from = before?.state;
  if (action === "sandbox.running") return from === "creating" || from === "resuming";
  // From other states the sandbox is paused again. A sandbox whose processes could not be replaced is paused.
  if (action === "sandbox.paused") return from === "pausing" || from === "rollingBack" || from === "rebooting";
  // If the store did not take the event `sandbox.killing`, `sandbox.dead` is the first event of the end.
  return action === "sandbox.killing" || (action === "sandbox.dead" && from !== "killing");
}

/** The line of the sandbox's log for an event that `isLogged`. `ms`: how long the change took, if that is known. */
export function lineOf(event: StoreEvent, record: SandboxRecord, ms: number | undefined): LogText {
  const took = ms === undefined ? {} : { ms: String(ms) };
  if (event.action === "sandbox.paused") {
    const what = record.settings.pauseMode === "filesystem" ? "with its disk only" : "with its memory";
    const { pauseCause = "requested" } = record.settings;
    return {
      level: "info",
      message: `Sandbox paused ${what}${PAUSES[pauseCause]}`,
      fields: { event: "paused", cause: pauseCause, ...took },
    };
  }
  if (event.action !== "sandbox.running") return endLine(event.after?.reason);
  if (event.before?.state === "resuming") return { level: "info", message: "Sandbox resumed", fields: { event: "resumed", ...took } };
  return { level: "info", message: `Sandbox started from template ${record.facts.alias}`, fields: { event: "started", ...took } };
}

function endLine(reason: unknown): LogText {
  const cause = (typeof reason === "string" ? reason : "unknown") as EndCause;
  return {
    level: ORDERLY.has(cause) ? "info" : "error",
    message: `Sandbox ended: ${CAUSES[cause] ?? CAUSES.unknown}`,
    fields: { event: "ended", cause },
  };
}
