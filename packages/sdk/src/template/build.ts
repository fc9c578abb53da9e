import { ApiClient, sleep } from "../connection/api-client.ts";
import { BoxyardError } from "../errors.ts";
import { type CallSite, placeOf } from "./call-site.ts";
import type { TemplateParts } from "./steps.ts";
import * as calls from "./template-api.ts";
import type { BuildLogEntry } from "./template-info.ts";
import { sendArchive, sendSteps, type UploadOpts } from "./upload.ts";

/** The value of a secret, or the name or id of one that is stored (`Secrets`). */
export type BuildSecret = string | { readonly stored: string };

export interface BuildOpts extends calls.BuildResources, UploadOpts {
  /** Tags of this build. Default: `default`. */
  readonly tags?: readonly string[] | undefined;
  /** Secrets by id, for commands that request them: values, or names of stored ones (`Secrets`). The server removes them from the log, and no build stores one. */
  readonly secrets?: Readonly<Record<string, BuildSecret>> | undefined;
  /** Called with each line of the build's log. A returned promise is awaited; an error thrown here is thrown to the caller. */
  readonly onLog?: ((entry: BuildLogEntry) => void | Promise<void>) | undefined;
}

/** The build failed. The log has the details; the stack points to the line of your program that added the failed step. */
export class BuildError extends BoxyardError {
  override name = "BuildError";
  /** `base`, the number of a step from 1 on, or `finalize`. For a step of a stage, the stage's name and a colon come first. */
  readonly step: string | undefined;
  /** The line of the program or Dockerfile that added the step. */
  readonly at: CallSite | undefined;

  constructor(message: string, step: string | undefined, at?: CallSite) {
    super(message, { code: "failed_precondition", reason: "build_failed" });
    this.step = step;
    this.at = at;
    if (at) this.stack = [`${this.name}: ${message}`, ...(at.frames ?? [`    at ${placeOf(at)}`])].join("\n");
  }
}

const CANCEL_TIMEOUT_MS = 5000;
/** Pauses between two requests for a build's status: short at first, for builds that come from the cache. */
const FIRST_POLL_MS = 25;
const POLL_MS = 200;

/** Uploads what the build needs and starts it. */
export async function beginBuild(api: ApiClient, parts: TemplateParts, name: string, opts: BuildOpts): Promise<calls.NewBuild> {
  const options = { signal: opts.signal, requestTimeoutMs: opts.requestTimeoutMs };
  const build = await calls.requestBuild(api, name, opts.tags, opts, options);
  const { templateId } = build;
  const stages: calls.StartedStage[] = [];
  for (const { name: stage, origin, steps, onBuildDone } of parts.stages ?? []) {
    stages.push({
      name: stage,
      ...origin,
      ...(onBuildDone ? { onBuildDone } : {}),
      steps: await sendSteps(api, templateId, steps, stage, opts),
    });
  }
  const steps = await sendSteps(api, templateId, parts.steps, undefined, opts);
  const { origin } = parts;
  const from = "fromArchive" in origin ? { fromArchive: await sendArchive(api, templateId, origin.fromArchive, opts) } : origin;
  await calls.startBuild(
    api,
    build,
    { ...parts, origin: from },
    { stages, steps, secrets: opts.secrets ?? {}, force: opts.skipCache ?? false },
    options,
  );
  return build;
}

/** The place that asked for the failed step. */
function siteOf(parts: TemplateParts, step: string | undefined): CallSite | undefined {
  if (step === undefined) return undefined;
  if (step === "finalize") return parts.startAt;
  const colon = step.lastIndexOf(":");
  const name = colon < 0 ? undefined : step.slice(0, colon);
  const place = name === undefined ? parts : parts.stages?.find((stage) => stage.name === name);
  const number = step.slice(colon + 1);
  return number === "base" ? place?.at : place?.steps[Number(number) - 1]?.at;
}

/** Follows a build to its end. An abort cancels it. */
export async function followBuild(api: ApiClient, build: calls.BuildRef, parts: TemplateParts, opts: BuildOpts): Promise<void> {
  const options = { signal: opts.signal, requestTimeoutMs: opts.requestTimeoutMs };
  let seen = 0;
  let pauseMs = FIRST_POLL_MS;
  try {
    for (;;) {
      const { status, logs, reason } = await calls.buildStatus(api, build, seen, options);
      seen += logs.length;
      for (const entry of logs) await opts.onLog?.(entry);
      // Every log entry is delivered before the build's end.
      if (logs.length > 0) continue;
      if (status === "ready") return;
      if (status === "error") throw new BuildError(reason?.message ?? "the build failed", reason?.step, siteOf(parts, reason?.step));
      await sleep(pauseMs, opts.signal);
      pauseMs = Math.min(pauseMs * 1.5, POLL_MS);
    }
  } catch (error) {
    // With a client of its own: the signal of this one may be what ended the wait.
    const other = new ApiClient({ ...api.config, signal: undefined, requestTimeoutMs: CANCEL_TIMEOUT_MS });
    if (!(error instanceof BuildError)) await calls.cancelBuild(other, build, {}).catch(() => {});
    throw error;
  }
}
