import { AppError } from "@boxyard/core";
import { MAX_JSON_DEPTH } from "@boxyard/spec/platform";
import type { z } from "zod";

const invalid = (message: string) => new AppError("invalid_argument", message, { reason: "invalid_request" });

/**
 * The JSON body of a request; an absent or empty body is `undefined`. Members that are null count as absent, at any depth: some clients send
 * null for an absent member. Only in maps of the user's own (`metadata`, `envVars`) null stays. The content type is not looked at: some clients
 * send none. Throws `invalid_argument`.
 */
export function readJson(bytes: Buffer): unknown {
  const text = bytes.toString();
  if (text.trim() === "") return undefined;
  if (depthOf(text) > MAX_JSON_DEPTH) throw invalid(`validation error: the body is nested deeper than ${MAX_JSON_DEPTH} levels`);
  try {
    return withoutNulls(JSON.parse(text));
  } catch {
    throw invalid("validation error: the body is not valid JSON");
  }
}

/** Members whose own members are the user's: null there is a value, which the schema refuses or takes. */
const USER_MAPS = new Set(["metadata", "envVars", "env", "mcp", "rules"]);

function withoutNulls(value: unknown): unknown {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(withoutNulls);
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([name, member]) => [name, USER_MAPS.has(name) ? member : withoutNulls(member)]));
}

/** `value` as `schema` parses it; `what` names it in errors. Throws `invalid_argument` that names the first field that is wrong. */
export function parseAs<S extends z.ZodType>(schema: S, value: unknown, what: string): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const field = issue && issue.path.length > 0 ? issue.path.join(".") : what;
  const missing = issue?.code === "invalid_type" && lookUp(value, issue.path) === undefined;
  throw invalid(`validation error: ${field}: ${missing ? "is required" : (issue?.message ?? "is not valid")}`);
}

function lookUp(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const key of path) at = at !== null && typeof at === "object" ? (at as Record<PropertyKey, unknown>)[key] : undefined;
  return at;
}

/** Deepest nesting of brackets outside strings. Found in one pass without recursion, before the parser, which recurses, gets the text. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (inString) {
      if (c === 0x5c) i += 1;
      else if (c === 0x22) inString = false;
    } else if (c === 0x22) inString = true;
    else if (c === 0x5b || c === 0x7b) deepest = Math.max(deepest, ++depth);
    else if (c === 0x5d || c === 0x7d) depth -= 1;
  }
  return deepest;
}
