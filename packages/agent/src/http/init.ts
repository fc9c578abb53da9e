import { existsSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { ENVD_VERSION } from "@boxyard/spec";
import { INIT_KEY_HEADER } from "@boxyard/spec/agent";
import { renewedInitKey } from "../access/init-key.ts";
import type { PlatformFacts, SandboxState } from "../access/sandbox-state.ts";
import { sameSecret } from "../access/token.ts";
import type { BodyBudget } from "../body/budget.ts";
import { bodyRules, readBody } from "../body/read-body.ts";
import type { Freezer } from "../cgroup/freezer.ts";
import type { HttpRoute } from "../contracts.ts";
import { LIMITS } from "../limits.ts";
import type { OomCounter } from "../metrics/oom-counter.ts";
import { type InitBody, parseInitBody } from "./init-body.ts";

export interface InitDeps {
  readonly state: SandboxState;
  readonly freezer: Freezer;
  readonly oomKills: OomCounter;
  readonly bodies: BodyBudget;
  /** Undefined: every call is refused, unless `hostDir` has a key. */
  readonly initKey: string | undefined;
  /** Directory that may have a key which replaces `initKey` (`renewedInitKey`). */
  readonly hostDir: string;
  readonly runDir: string;
  readonly etcDir: string;
  readonly caBundlePath: string;
  readonly javaStorePath: string;
  /** Called after each successful call, when the sandbox is ready for commands. */
  onReady(): void;
}

/**
 * `POST /init`, by which the server sets the sandbox's token, users, environment and facts. Internal: the proxy refuses it, and every call needs the
 * init key. It sets the state first and thaws after that, so that commands frozen for a pause go on with the new state. A call that is older than
 * the last one, or malformed, changes nothing and thaws as well.
 */
export function initRoute(deps: InitDeps): HttpRoute {
  return {
    method: "POST",
    path: "/init",
    access: "own",
    async handle({ request }) {
      const key = request.headers.get(INIT_KEY_HEADER) ?? "";
      const initKey = renewedInitKey(deps.hostDir) ?? deps.initKey;
      if (initKey === undefined || !sameSecret(key, initKey)) {
        throw new AppError("unauthenticated", "the init key is missing or wrong", { reason: "bad_init_key" });
      }
      try {
        const body = await readInitBody(deps, request);
        if (deps.state.acceptTime(body.time)) await apply(deps, body);
      } finally {
        deps.oomKills.read();
        await deps.freezer.thaw();
      }
      setImmediate(deps.onReady);
      return new Response(null, { status: 204, headers: { "Cache-Control": "no-store", "X-Envd-Version": ENVD_VERSION } });
    },
  };
}

async function readInitBody({ bodies }: InitDeps, request: Request): Promise<InitBody> {
  const claim = bodies.claim();
  try {
    return parseInitBody(await readBody(request, bodyRules(claim, { maxBytes: LIMITS.initBytes })));
  } finally {
    claim.release();
  }
}

type InitPaths = Pick<InitDeps, "runDir" | "etcDir" | "caBundlePath" | "javaStorePath">;

async function apply({ state, ...paths }: InitDeps, body: InitBody): Promise<void> {
  if (body.envVars) state.setEnv(body.envVars);
  if (body.accessToken !== undefined) state.accessToken = body.accessToken || undefined;
  const facts = { sandboxId: body.sandboxID, templateId: body.templateID, eventsAddress: body.hyperloopIP || undefined };
  state.learn(facts);
  if (body.defaultUser !== undefined) state.defaultUser = body.defaultUser || undefined;
  if (body.defaultWorkdir !== undefined) state.defaultWorkdir = body.defaultWorkdir || undefined;
  await applyToFiles(body, facts, paths);
  state.isInitialised = true;
}

async function applyToFiles(
  body: InitBody,
  facts: PlatformFacts,
  { runDir, etcDir, caBundlePath, javaStorePath }: InitPaths,
): Promise<void> {
  if (facts.sandboxId === undefined && facts.templateId === undefined && !facts.eventsAddress && body.caBundle === undefined) return;
  const { addHost, writeFacts } = await import("./init-files.ts");
  writeFacts(runDir, facts);
  if (facts.eventsAddress) addHost(etcDir, facts.eventsAddress, "events.e2b.local");
  if (body.caBundle === undefined) return;
  (await import("./ca-bundle.ts")).setCaBundle(caBundlePath, body.caBundle);
  if (existsSync(javaStorePath)) (await import("./java-store.ts")).setJavaStore(javaStorePath, body.caBundle);
}
