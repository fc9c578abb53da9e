import { parseSandboxId } from "@boxyard/core";
import { includes, type NewSandbox, type routes } from "@boxyard/spec/platform";
import { json, noContent } from "../responses.ts";
import { presentDetail, presentSandbox, presentVolumes } from "./present.ts";
import type { Handler, HandlerOf } from "./services.ts";

/* The operations of one sandbox's life: each parses the id, calls the service and presents what it answers. */

/** `POST /sandboxes` and `POST /v2/sandboxes`, which differ in their schema only (docs/contract/platform.md). */
export function createSandbox(version: "v1" | "v2"): Handler<NewSandbox> {
  return async ({ body, caller, header, signal }, context) => {
    const options = { version, idempotencyKey: header("idempotency-key"), signal };
    return json(201, presentSandbox(await context.sandboxes.create(caller.teamId, body, options), context));
  };
}

export const getSandbox: HandlerOf<typeof routes.getSandbox> = ({ caller, param }, context) =>
  json(
    200,
    presentDetail(context.sandboxes.get(caller.teamId, parseSandboxId(param("sandboxID"))), includes(caller.scopes, "sandboxes"), context),
  );

/** Both versions of connect: never shortens the lifetime of a running sandbox, and resumes a paused one. */
export const connect: Handler<{ timeout: number; memory?: boolean | undefined }> = async ({ body, caller, param }, context) => {
  context.sandboxes.checkTimeout(caller.teamId, body.timeout);
  const wish = { seconds: body.timeout, memory: body.memory !== false };
  const { record, isResumed } = await context.sandboxes.connect(caller.teamId, parseSandboxId(param("sandboxID")), wish);
  return json(isResumed ? 201 : 200, presentSandbox(record, context));
};

export const resumeSandbox: HandlerOf<typeof routes.resumeSandbox> = async ({ body, caller, param }, context) => {
  context.sandboxes.checkTimeout(caller.teamId, body.timeout);
  const wish = { seconds: body.timeout, memory: body.memory !== false };
  const record = await context.sandboxes.resume(caller.teamId, parseSandboxId(param("sandboxID")), wish);
  return json(201, presentSandbox(record, context));
};

/** Sets the end to now + timeout, which may shorten the lifetime. A negative timeout counts as 0. */
export const setTimeout: HandlerOf<typeof routes.setTimeout> = async ({ body, caller, param }, { sandboxes }) => {
  sandboxes.checkTimeout(caller.teamId, body.timeout);
  await sandboxes.setTimeout(caller.teamId, parseSandboxId(param("sandboxID")), body.timeout);
  return noContent();
};

/** Never shortens the lifetime. */
export const refreshSandbox: HandlerOf<typeof routes.refreshSandbox> = async ({ body, caller, param }, { sandboxes }) => {
  await sandboxes.refresh(caller.teamId, parseSandboxId(param("sandboxID")), body.duration);
  return noContent();
};

/** Answers once a crash of the machine would no longer lose the sandbox. Refused while the guest does not answer. */
export const pauseSandbox: HandlerOf<typeof routes.pauseSandbox> = async ({ body, caller, param }, { sandboxes }) => {
  await sandboxes.pause(caller.teamId, parseSandboxId(param("sandboxID")), body.memory !== false);
  return noContent();
};

/** Answers once the sandbox runs again in the state of the snapshot, with the volumes that it has, which are as they were. */
export const rollbackSandbox: HandlerOf<typeof routes.rollbackSandbox> = async ({ body, caller, param }, { rollbacks }) => {
  const { facts } = await rollbacks.rollback(caller.teamId, parseSandboxId(param("sandboxID")), body.snapshotID);
  return json(200, presentVolumes(facts.volumes));
};

export const resizeSandbox: HandlerOf<typeof routes.resizeSandbox> = async ({ body, caller, param }, context) =>
  json(200, presentDetail(await context.resizing.resize(caller.teamId, parseSandboxId(param("sandboxID")), body), true, context));

/** Replaces all egress rules of the sandbox: rules that the body omits are removed. Ingress rules stay. */
export const updateNetwork: HandlerOf<typeof routes.updateNetwork> = async ({ body, caller, param }, { sandboxes }) => {
  const { allow_internet_access, ...network } = body;
  await sandboxes.setEgress(caller.teamId, parseSandboxId(param("sandboxID")), { allow_internet_access, network });
  return noContent();
};

export const getMetrics: HandlerOf<typeof routes.getMetrics> = async ({ query, caller, param }, { observations }) =>
  json(200, await observations.metricsOf(caller.teamId, parseSandboxId(param("sandboxID")), query));

export const listMetrics: HandlerOf<typeof routes.listMetrics> = ({ query, caller }, { observations }) => {
  const ids = query.sandbox_ids.split(",").filter((id) => id !== "");
  return json(200, { sandboxes: observations.newestMetrics(caller.teamId, ids) });
};

/** Answers once nothing of the sandbox is left. */
export const killSandbox: HandlerOf<typeof routes.killSandbox> = async ({ caller, param }, { sandboxes }) => {
  await sandboxes.kill(caller.teamId, parseSandboxId(param("sandboxID")));
  return noContent();
};
