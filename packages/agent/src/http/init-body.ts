import { AppError } from "@boxyard/core";
import type { AgentInitRequest, Timestamp } from "@boxyard/spec/agent";
import { parseJson } from "../body/json.ts";
import { checkEnvironment } from "../process/environment.ts";
import { parseTimestamp } from "../rpc/codec.ts";

/** The body of `/init`, checked. */
export interface InitBody extends Omit<AgentInitRequest, "timestamp"> {
  readonly time: Timestamp | undefined;
}

const TEXTS = [
  "accessToken",
  "defaultUser",
  "defaultWorkdir",
  "sandboxID",
  "templateID",
  "hyperloopIP",
  "caBundle",
  "lifecycleID",
] as const;
const IP = /^[0-9a-fA-F.:]{2,45}$/;

/** Parses the body; an empty one is the empty object, and null counts as absent. Throws `invalid_argument` with the member's name. */
export function parseInitBody(bytes: Uint8Array): InitBody {
  const body = parseObject(bytes);
  const texts = Object.fromEntries(TEXTS.filter((name) => isGiven(body[name])).map((name) => [name, textOf(body, name)]));
  const envVars = isGiven(body.envVars) ? environmentOf(body.envVars) : undefined;
  if (Array.isArray(body.volumeMounts) && body.volumeMounts.length > 0) throw bad("volumeMounts", "empty: this agent mounts no volumes");
  if (texts.hyperloopIP && !IP.test(texts.hyperloopIP)) throw bad("hyperloopIP", "an IP address");
  return { ...texts, ...(envVars ? { envVars } : {}), time: timeOf(body) };
}

function parseObject(bytes: Uint8Array): Record<string, unknown> {
  if (bytes.length === 0) return {};
  let value: unknown;
  try {
    value = parseJson(bytes);
  } catch (error) {
    throw new AppError("invalid_argument", "the body is not JSON", { reason: "bad_json", cause: error });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw bad("the body", "an object");
  return value as Record<string, unknown>;
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function textOf(body: Record<string, unknown>, name: string): string {
  const value = body[name];
  if (typeof value !== "string" || value.includes("\0")) throw bad(name, "a string");
  return value;
}

function environmentOf(value: unknown): Record<string, string> {
  if (typeof value !== "object" || Array.isArray(value)) throw bad("envVars", "an object of strings");
  const env: Record<string, string> = Object.create(null);
  for (const [name, text] of Object.entries(value as Record<string, unknown>)) {
    if (typeof text !== "string") throw bad(`envVars['${name}']`, "a string");
    checkEnvironment(name, text);
    env[name] = text;
  }
  return env;
}

function timeOf(body: Record<string, unknown>): Timestamp | undefined {
  if (!isGiven(body.timestamp)) return undefined;
  const time = parseTimestamp(textOf(body, "timestamp"));
  if (!time) throw bad("timestamp", "a time as RFC 3339 writes it");
  return time;
}

function bad(name: string, expected: string): AppError {
  return new AppError("invalid_argument", `${name} must be ${expected}`, { reason: "bad_field" });
}
