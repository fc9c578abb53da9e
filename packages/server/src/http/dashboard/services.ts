import type { ServerConfig } from "../../config.ts";
import type { DashboardSessions } from "../../dashboard/sessions.ts";
import type { Keys } from "../../keys/keys.ts";

/** What the handlers of the dashboard use. */
export interface DashboardServices {
  readonly config: ServerConfig;
  readonly keys: Pick<Keys, "list">;
  readonly sessions: DashboardSessions;
  /** Gives the directory of the page's files; makes them for the first request. */
  readonly dashboardFiles: () => Promise<string>;
}
