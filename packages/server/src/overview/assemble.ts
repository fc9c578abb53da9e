import type { Clock, SandboxId, TeamId } from "@boxyard/core";
import type { Fingerprint } from "@boxyard/driver";
import type { ServerConfig } from "../config.ts";
import type { Meters } from "../metrics/meters.ts";
import { memoryOf } from "../metrics/sandbox-points.ts";
import type { Admission } from "../sandboxes/create/admission.ts";
import type { Store } from "../store/index.ts";
import type { Builds } from "../templates/builds/builds.ts";
import type { Templates } from "../templates/templates.ts";
import { ServerChecks } from "./checks.ts";
import { Overview, type OverviewParts } from "./server-state.ts";
import { TeamUse } from "./team-use.ts";

interface Needs extends Omit<OverviewParts, "checks" | "base" | "config" | "memoryOf"> {
  readonly config: ServerConfig;
  readonly store: Pick<Store, "health">;
  readonly clock: Clock;
  readonly templates: Pick<Templates, "resolve" | "ofTeam">;
  readonly admission: Pick<Admission, "createsOf">;
  readonly builds: Pick<Builds, "openOf">;
  readonly meters: Pick<Meters, "find">;
  readonly firstKey: { readonly teamId: TeamId };
}

const nothing = async (): Promise<Fingerprint> => ({ checks: [] });

/** The server as its operator sees it, and teams' use of it. `fingerprint`: what the machine can do; without it only the server itself is checked. */
export function overviewOf(needs: Needs, fingerprint: () => Promise<Fingerprint> = nothing) {
  const { templates, firstKey, meters } = needs;
  const base = () => {
    try {
      return templates.resolve(firstKey.teamId, "base").spec;
    } catch {
      // It was deleted.
      return undefined;
    }
  };
  const memoryUsedBy = (id: SandboxId) => {
    const last = meters.find(id)?.tail.last;
    return last && memoryOf(last);
  };
  const overview = new Overview({ ...needs, base, memoryOf: memoryUsedBy, checks: new ServerChecks({ ...needs, fingerprint }) });
  return { recent: needs.recent, overview, teamUse: new TeamUse(needs) };
}
