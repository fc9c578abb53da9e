import { routes } from "@boxyard/spec/platform";
import type { ServerConfig } from "../../config.ts";
import type { Credentials } from "../../keys/credentials.ts";
import type { Overview } from "../../overview/server-state.ts";
import { settingsInForce } from "../../overview/settings-in-force.ts";
import { json } from "../responses.ts";
import { type Api, mount, type RouteHandler } from "../route.ts";

/** What the handlers of the server's own state use. */
export interface ServerServices {
  readonly config: ServerConfig;
  readonly credentials: Credentials;
  readonly overview: Pick<Overview, "state">;
}

type HandlerOf<R> = RouteHandler<ServerServices, R>;

const getServer: HandlerOf<typeof routes.getServer> = async (_input, { overview }) => json(200, await overview.state());

const getServerSettings: HandlerOf<typeof routes.getServerSettings> = (_input, { config }) => json(200, settingsInForce(config));

export function mountServer(app: Api, services: ServerServices): void {
  mount(app, services, routes.getServer, getServer);
  mount(app, services, routes.getServerSettings, getServerSettings);
}
