import { isAppError } from "@boxyard/core";
import type { BodyClaim } from "../../body/budget.ts";
import { parseJson } from "../../body/json.ts";
import { bodyRules, readBody } from "../../body/read-body.ts";
import { httpFailure } from "../../contracts.ts";
import { LIMITS } from "../limits.ts";

/** Body of a composition (docs/contract/agent.md, Composition). */
export interface ComposeRequest {
  readonly sourcePaths: readonly string[];
  readonly destination: string;
  readonly username: string | undefined;
}

const invalid = (why: string, cause?: unknown) => httpFailure(400, `invalid request body: ${why}`, cause);

/** Reads and checks the body, and claims its memory. Throws 400 with the member that is wrong. */
export async function readComposeRequest(request: Request, claim: BodyClaim): Promise<ComposeRequest> {
  const body = await parse(request, claim);
  const { source_paths: sources, destination, username } = body;
  if (Array.isArray(sources) && sources.length > LIMITS.composeSources) {
    throw httpFailure(400, `source_paths must not have more than ${LIMITS.composeSources} items`);
  }
  if (sources !== undefined && sources !== null && !isStrings(sources)) throw invalid("source_paths must be an array of strings");
  if (destination !== undefined && destination !== null && typeof destination !== "string") throw invalid("destination must be a string");
  if (username !== undefined && username !== null && typeof username !== "string") throw invalid("username must be a string");
  if (!sources || sources.length === 0) throw httpFailure(400, "source_paths must not be empty");
  if (!destination) throw httpFailure(400, "destination is required");
  return { sourcePaths: sources, destination, username: username ?? undefined };
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

async function parse(request: Request, claim: BodyClaim): Promise<Record<string, unknown>> {
  const bytes = await bounded(request, claim);
  let body: unknown;
  try {
    body = parseJson(bytes);
  } catch (error) {
    throw invalid("not valid JSON in UTF-8", error);
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw invalid("not a JSON object");
  return body as Record<string, unknown>;
}

async function bounded(request: Request, claim: BodyClaim): Promise<Uint8Array> {
  try {
    return await readBody(request, bodyRules(claim, { maxBytes: LIMITS.composeBodyBytes }));
  } catch (error) {
    throw isAppError(error, "too_large") ? invalid(`larger than ${LIMITS.composeBodyBytes} bytes`, error) : error;
  }
}
