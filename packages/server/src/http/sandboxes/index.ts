import { type Declared, routes } from "@boxyard/spec/platform";
import type { RouteConfig } from "@hono/zod-openapi";
import type { Credentials } from "../../keys/credentials.ts";
import { type Api, mount } from "../route.ts";
import { forkSandbox } from "./fork.ts";
import {
  connect,
  createSandbox,
  getMetrics,
  getSandbox,
  killSandbox,
  listMetrics,
  pauseSandbox,
  refreshSandbox,
  resizeSandbox,
  resumeSandbox,
  rollbackSandbox,
  setTimeout,
  updateNetwork,
} from "./lifecycle.ts";
import { listSandboxes, listSandboxesV2 } from "./list.ts";
import { getSandboxLogs, getSandboxLogsV2 } from "./logs.ts";
import { getOrCreateSandbox, setUpSandbox, updateSandbox } from "./names.ts";
import { getNetworkLog, suggestNetwork } from "./network-log.ts";
import { getPortUrl, withdrawPortUrls } from "./port-url.ts";
import type { Handler, HandlerOf, SandboxServices } from "./services.ts";
import { createSnapshot, listSnapshots } from "./snapshots.ts";

export function mountSandboxes(app: Api, context: SandboxServices & { readonly credentials: Credentials }): void {
  mount(app, context, routes.createSandbox, createSandbox("v1"));
  mount(app, context, routes.createSandboxV2, createSandbox("v2"));
  mount(app, context, routes.listSandboxes, listSandboxes);
  mount(app, context, routes.listSandboxesV2, listSandboxesV2);
  mount(app, context, routes.listMetrics, listMetrics);
  mount(app, context, routes.listSnapshots, listSnapshots);
  // Before the operations of one sandbox, whose paths match these too, with the id `by-name`.
  mount(app, context, routes.getOrCreateSandbox, getOrCreateSandbox);
  const byName: (() => void)[] = [];
  const byId: (() => void)[] = [];
  const add = <R extends RouteConfig & Declared>(route: R, handler: HandlerOf<R>) => {
    byName.push(() => mount(app, context, named(route), ofNamed(handler)));
    byId.push(() => mount(app, context, route, handler));
  };
  add(routes.getSandbox, getSandbox);
  add(routes.killSandbox, killSandbox);
  add(routes.getMetrics, getMetrics);
  add(routes.connectSandbox, connect);
  add(routes.connectSandboxV2, connect);
  add(routes.resumeSandbox, resumeSandbox);
  add(routes.setTimeout, setTimeout);
  add(routes.refreshSandbox, refreshSandbox);
  add(routes.updateNetwork, updateNetwork);
  add(routes.pauseSandbox, pauseSandbox);
  add(routes.forkSandbox, forkSandbox);
  add(routes.rollbackSandbox, rollbackSandbox);
  add(routes.createSnapshot, createSnapshot);
  add(routes.getSandboxLogs, getSandboxLogs);
  add(routes.getSandboxLogsV2, getSandboxLogsV2);
  add(routes.setUpSandbox, setUpSandbox);
  add(routes.updateSandbox, updateSandbox);
  add(routes.resizeSandbox, resizeSandbox);
  add(routes.getNetworkLog, getNetworkLog);
  add(routes.suggestNetwork, suggestNetwork);
  add(routes.getPortUrl, getPortUrl);
  add(routes.withdrawPortUrls, withdrawPortUrls);
  for (const mountIt of [...byName, ...byId]) mountIt();
}

/** The route of an operation for a sandbox that is given by its name. */
const named = <R extends RouteConfig>(route: R): R => ({ ...route, path: route.path.replace("{sandboxID}", "by-name/{sandboxName}") });

/** Calls the handler with the id of the named sandbox. */
const ofNamed =
  <B, Q>(handler: Handler<B, Q>): Handler<B, Q> =>
  (input, services) => {
    const id = () => services.named.idOf(input.caller.teamId, input.param("sandboxName"));
    return handler({ ...input, param: (name) => (name === "sandboxID" ? id() : input.param(name)) }, services);
  };
