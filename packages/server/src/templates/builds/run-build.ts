import { atPoint } from "@boxyard/core";
import type { ImageRef } from "@boxyard/driver";
import type { Pin } from "../../images/pins.ts";
import type { BuildRecord, TemplateSpec } from "../../store/index.ts";
import { DEFAULT_DISK_MB } from "../templates.ts";
import { type Commands, FINALIZE, factsTar, templateSpecOf, tryStart } from "./finish/finalize.ts";
import { type KeepStartedDeps, keepStarted } from "./finish/keep-started.ts";
import type { BuildLog } from "./log/build-log.ts";
import type { BuildOrder } from "./order/build-order.ts";
import { withinLimit } from "./stage/open-sandbox.ts";
import { Session } from "./stage/session.ts";
import type { BuildState } from "./stage/state.ts";
import { type StageContext, type StageDeps, StageRun } from "./stage-run.ts";
import { masker } from "./steps/secrets.ts";

/** Runs one build: stages, steps, the trial of the start command. Returns the spec. Throws `BuildFailure` for failures that the owner can mend. */
export async function runBuild(
  order: BuildOrder,
  deps: StageDeps & KeepStartedDeps & { readonly maxCpuCount: number },
  log: BuildLog,
  hold: { signal: AbortSignal; pin: Pin; started: string },
): Promise<TemplateSpec> {
  const { teamId, request } = order;
  const { diskLimitBytes } = await deps.driver.capacity();
  const build = fitted(
    order.build,
    { cpuCount: deps.maxCpuCount, diskMB: Math.max(DEFAULT_DISK_MB, Math.floor(diskLimitBytes / 2 ** 20)) },
    log,
  );
  const { settings } = deps;
  const secrets = { ...settings.secrets, ...request.secrets };
  const mask = masker([...Object.values(request.secrets), ...settings.passwords]);
  const session = new Session(deps, build, log, { ...hold, teamId, mask });
  const stages = new Map<string, ImageRef>();
  const context: StageContext = { teamId, templateId: build.templateId, deps, log, session, stages, force: request.force, secrets };
  // This layer depends on no step, so it is made at the same time.
  const facts = deps.driver.images.importLayer(new Blob([factsTar(build)]).stream(), { signal: hold.signal });
  facts.catch(() => {}); // Told when it is awaited.
  try {
    for (const stage of order.stages) stages.set(stage.name ?? "", (await new StageRun(stage, context).run()).image);
    const main = new StageRun(order, context);
    const state = await main.run();
    const overrides = request.startCmd !== undefined || request.readyCmd !== undefined;
    const commands = overrides ? pick(request) : (main.inherited ?? {});
    const open = await finalize(main, state, commands, context);
    const image: ImageRef = await withinLimit(
      deps.driver,
      [...open.image.layers, (await atPoint(deps.observer, "build facts", () => facts)).digest],
      hold.signal,
    );
    await session.keep(image);
    const restrictions = { ...main.inherited?.restrictions, ...request.restrictions };
    const onBuild = request.onBuild.length > 0 ? request.onBuild : (main.inherited?.onBuild ?? []);
    const { volumeMounts } = request;
    const more = {
      onBuild,
      ...(volumeMounts.length > 0 && { volumeMounts }),
      ...(Object.keys(restrictions).length > 0 && { restrictions }),
    };
    const spec = templateSpecOf({ ...open, image }, build, { ...commands, ...more });
    if (!request.startFromMemory) return spec;
    await session.close();
    return await keepStarted({ teamId, templateId: build.templateId, buildId: build.id, spec }, hold.started, deps, log, hold.signal);
  } finally {
    await Promise.allSettled([facts, session.close()]);
  }
}

/** The build, with no more processors and disk than the machine has. The log has a warning when they were reduced. */
function fitted(build: BuildRecord, most: { readonly cpuCount: number; readonly diskMB: number }, log: BuildLog): BuildRecord {
  const { cpuCount, diskMB } = build.resources;
  if (cpuCount > most.cpuCount) {
    log.add(`cpuCount: ${cpuCount} is more than this machine has; sandboxes get ${most.cpuCount}`, "base", "warn");
  }
  if (diskMB > most.diskMB) log.add(`disk: ${diskMB} MiB are more than the pool has; sandboxes get ${most.diskMB} MiB`, "base", "warn");
  const resources = { ...build.resources, cpuCount: Math.min(cpuCount, most.cpuCount), diskMB: Math.min(diskMB, most.diskMB) };
  return { ...build, resources };
}

/** Prepares the image for its user and tries the start command. */
async function finalize(main: StageRun, state: BuildState, commands: Commands, { session, deps, log }: StageContext): Promise<BuildState> {
  const open = await main.cached("finalize", [], "Finalizing template", FINALIZE, state, async () => ({
    ...state,
    // The script that does this needs the image's shell.
    image: main.isEmpty ? state.image : await main.openUp(state.image, FINALIZE),
  }));
  if (commands.startCmd || commands.readyCmd) {
    const { startCmd = "", readyCmd = "", runAs = open } = commands;
    const texts = [startCmd, readyCmd, runAs.user, runAs.workdir];
    return await main.cached("start", texts, "Trying the start command", FINALIZE, open, async () => {
      const ports = await tryStart(open, commands, { session, log, clock: deps.clock, hasShell: !main.isEmpty });
      return ports.length > 0 ? { ...open, ports } : open;
    });
  }
  return open;
}

const pick = ({ startCmd, readyCmd }: { startCmd?: string | undefined; readyCmd?: string | undefined }): Commands => ({
  ...(startCmd ? { startCmd } : {}),
  ...(readyCmd ? { readyCmd } : {}),
});
