import { filesystemService, processService } from "@boxyard/spec/agent";
import { SandboxState } from "./access/sandbox-state.ts";
import { SystemUsers } from "./access/users.ts";
import { BodyBudget } from "./body/budget.ts";
import { CommandCgroups } from "./cgroup/command-cgroups.ts";
import { Freezer } from "./cgroup/freezer.ts";
import type { AgentConfig } from "./config.ts";
import type { AgentContext } from "./contracts.ts";
import { fileRoutes, filesystemHandlers } from "./files/index.ts";
import { freezeRoute, unfreezeRoute } from "./http/freeze.ts";
import { envsRoute, healthRoute } from "./http/health.ts";
import { initRoute } from "./http/init.ts";
import { journalRoute } from "./http/journal.ts";
import { metricsRoute } from "./http/metrics.ts";
import { LIMITS } from "./limits.ts";
import { LogRing, logRoute } from "./log-ring.ts";
import { CgroupOomCounter } from "./metrics/oom-counter.ts";
import { readLimits } from "./metrics/sandbox-limits.ts";
import { Usage } from "./metrics/usage.ts";
import { Commands } from "./process/commands.ts";
import { Journal } from "./process/journal.ts";
import { Launcher } from "./process/launch/launcher.ts";
import { OutputShares } from "./process/output-shares.ts";
import { processHandlers } from "./process/rpc/handlers.ts";
import { endpointsOf } from "./rpc/dispatch.ts";
import type { AgentRoutes } from "./server.ts";
import { agentClock } from "./timers.ts";

/** The parts of an agent that `serve` needs. */
export interface Agent {
  readonly ctx: AgentContext;
  readonly routes: AgentRoutes;
}

/** Makes every object of the agent, in the order of their dependencies. `initKey` undefined: no `/init` is accepted. */
export function buildAgent(config: AgentConfig, initKey: string | undefined, clock = agentClock): Agent {
  const log = new LogRing(clock.now);
  const journal = new Journal(clock);
  const state = new SandboxState();
  const ctx: AgentContext = {
    state,
    users: new SystemUsers(config.etcDir),
    clock,
    bodies: bodyBudget(),
    log: (message, error) => journal.tell(log.add(message, error)),
  };
  const freezer = new Freezer(config.cgroupRoot, clock, config.freezeWatchdogMs);
  const usage = new Usage({ ...config, limits: () => readLimits(config.hostDir), clock });
  const oomKills = new CgroupOomCounter([`${config.cgroupRoot}/memory.events`, `${config.cgroupV1Root}/memory/memory.oom_control`]);
  const cgroups = new CommandCgroups(config.cgroupRoot);
  const launcher = new Launcher(config.launchPath);
  const shares = new OutputShares();
  const outputAgeMs = () => (shares.lastOutputAt === undefined ? undefined : Math.max(0, clock.now() - shares.lastOutputAt));
  const process = processHandlers(ctx, new Commands(clock, journal), {
    state,
    clock,
    cgroups,
    oomKills,
    launcher,
    shares,
    cpuLimit: () => readLimits(config.hostDir).cpuCount,
  });
  return {
    ctx,
    routes: {
      http: [
        healthRoute,
        envsRoute(state),
        metricsRoute(usage, outputAgeMs),
        logRoute(log),
        journalRoute(journal),
        initRoute({ ...config, state, freezer, oomKills, bodies: ctx.bodies, initKey, onReady: () => launcher.warmUp() }),
        freezeRoute(freezer, oomKills),
        unfreezeRoute(freezer),
        ...fileRoutes(ctx),
      ],
      rpc: [...endpointsOf(processService, process), ...endpointsOf(filesystemService, filesystemHandlers(ctx))],
    },
  };
}

function bodyBudget(): BodyBudget {
  const { bodiesBytes, bodyFreeBytes, bodiesWaitMs, bodiesCollectBytes } = LIMITS;
  const limits = { totalBytes: bodiesBytes, freeBytes: bodyFreeBytes, waitMs: bodiesWaitMs, collectBytes: bodiesCollectBytes };
  return new BodyBudget(limits, () => Bun.gc(true));
}
