import type { ImageRef } from "@boxyard/driver";
import type { Pin } from "../../images/pins.ts";
import type { TemplateSpec } from "../../store/index.ts";
import type { BuildLog } from "./build-log.ts";
import type { BuildOrder } from "./build-order.ts";
import { type Commands, FINALIZE, factsTar, specOf, tryStart } from "./finalize.ts";
import { Session } from "./session.ts";
import { type StageContext, type StageDeps, StageRun } from "./stage-run.ts";
import type { BuildState } from "./state.ts";
import { withinLimit } from "./workspace.ts";

/** Runs one build from its base to what sandboxes start from. Throws `BuildFailure` for what the build itself got wrong. */
export async function runBuild(
  order: BuildOrder,
  deps: StageDeps,
  log: BuildLog,
  hold: { signal: AbortSignal; pin: Pin },
): Promise<TemplateSpec> {
  const { teamId, request } = order;
  const session = new Session(deps, order.build, log, hold);
  const stages = new Map<string, ImageRef>();
  const context: StageContext = { teamId, deps, log, session, stages, force: request.force };
  try {
    for (const stage of order.stages) stages.set(stage.name ?? "", (await new StageRun(stage, context).run()).image);
    const main = new StageRun(order, context);
    const state = await main.run();
    const overrides = request.startCmd !== undefined || request.readyCmd !== undefined;
    return await finalize(main, state, overrides ? pick(request) : pick(main.inherited ?? {}), order, context);
  } finally {
    await session.close();
  }
}

async function finalize(
  main: StageRun,
  state: BuildState,
  commands: Commands,
  { build }: BuildOrder,
  { session, deps, log }: StageContext,
): Promise<TemplateSpec> {
  const open = await main.cached("finalize", [], "Finalizing template", FINALIZE, state, async () => ({
    ...state,
    image: await main.openUp(state.image, FINALIZE),
  }));
  if (commands.startCmd || commands.readyCmd) {
    const texts = [commands.startCmd ?? "", commands.readyCmd ?? ""];
    await main.cached("start", texts, "Trying the start command", FINALIZE, open, async () => {
      await tryStart(open, commands, session, log, deps.clock);
      return open;
    });
  }
  const { signal } = session;
  const facts = await deps.driver.images.importLayer(new Blob([factsTar(build)]).stream(), { signal });
  const image: ImageRef = await withinLimit(deps.driver, [...open.image.layers, facts.digest], signal);
  await session.keep(image);
  return specOf({ ...open, image }, build, commands);
}

const pick = ({ startCmd, readyCmd }: { startCmd?: string | undefined; readyCmd?: string | undefined }): Commands => ({
  ...(startCmd ? { startCmd } : {}),
  ...(readyCmd ? { readyCmd } : {}),
});
