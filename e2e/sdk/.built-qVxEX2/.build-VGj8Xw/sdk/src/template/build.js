import { ApiClient, sleep } from "../api-client.js";
import { BoxyardError } from "../errors.js";
import { placeOf } from "./call-site.js";
import * as calls from "./template-api.js";
import { sendArchive, sendSteps } from "./upload.js";
/** The build failed. The log tells more; the stack leads to the line that asked for what failed. */
export class BuildError extends BoxyardError {
    name = "BuildError";
    /** `base`, the number of a step from 1 on, or `finalize`; in a stage with the stage's name and a colon before it. */
    step;
    /** The line of the program or Dockerfile that asked for the step. */
    at;
    constructor(message, step, at) {
        super(message, { code: "failed_precondition", reason: "build_failed" });
        this.step = step;
        this.at = at;
        if (at)
            this.stack = [`${this.name}: ${message}`, ...(at.frames ?? [`    at ${placeOf(at)}`])].join("\n");
    }
}
const CANCEL_TIMEOUT_MS = 5000;
/** Pauses between two looks at a build: short at first, for those that come from the cache. */
const FIRST_POLL_MS = 25;
const POLL_MS = 200;
/** Uploads what the build needs and starts it. */
export async function beginBuild(api, parts, name, opts) {
    const options = { signal: opts.signal, requestTimeoutMs: opts.requestTimeoutMs };
    const build = await calls.requestBuild(api, name, opts.tags, opts, options);
    const { templateId } = build;
    const stages = [];
    for (const { name: stage, origin, steps } of parts.stages ?? []) {
        stages.push({ name: stage, ...origin, steps: await sendSteps(api, templateId, steps, stage, opts) });
    }
    const steps = await sendSteps(api, templateId, parts.steps, undefined, opts);
    const { origin } = parts;
    const from = "fromArchive" in origin ? { fromArchive: await sendArchive(api, templateId, origin.fromArchive, opts) } : origin;
    await calls.startBuild(api, build, { ...parts, origin: from }, { stages, steps, secrets: opts.secrets ?? {}, force: opts.skipCache ?? false }, options);
    return build;
}
/** Who asked for what a build failed at. */
function siteOf(parts, step) {
    if (step === undefined)
        return undefined;
    if (step === "finalize")
        return parts.startAt;
    const colon = step.lastIndexOf(":");
    const name = colon < 0 ? undefined : step.slice(0, colon);
    const place = name === undefined ? parts : parts.stages?.find((stage) => stage.name === name);
    const number = step.slice(colon + 1);
    return number === "base" ? place?.at : place?.steps[Number(number) - 1]?.at;
}
/** Follows a build to its end. An abort cancels it. */
export async function followBuild(api, build, parts, opts) {
    const options = { signal: opts.signal, requestTimeoutMs: opts.requestTimeoutMs };
    let seen = 0;
    let pauseMs = FIRST_POLL_MS;
    try {
        for (;;) {
            const { status, logs, reason } = await calls.buildStatus(api, build, seen, options);
            seen += logs.length;
            for (const entry of logs)
                await opts.onLog?.(entry);
            // What is logged is shown before the end is told.
            if (logs.length > 0)
                continue;
            if (status === "ready")
                return;
            if (status === "error")
                throw new BuildError(reason?.message ?? "the build failed", reason?.step, siteOf(parts, reason?.step));
            await sleep(pauseMs, opts.signal);
            pauseMs = Math.min(pauseMs * 1.5, POLL_MS);
        }
    }
    catch (error) {
        // With a client of its own: the signal of this one may be what ended the wait.
        const other = new ApiClient({ ...api.config, signal: undefined, requestTimeoutMs: CANCEL_TIMEOUT_MS });
        if (!(error instanceof BuildError))
            await calls.cancelBuild(other, build, {}).catch(() => { });
        throw error;
    }
}
