import { createHash, timingSafeEqual } from "node:crypto";
import { fileSignatureText, type SignedFile, signedFileText } from "@boxyard/spec";
import type { Route, RouteTable } from "./route-table.ts";

/** The operation of a method on `/files`; undefined for other methods. */
function operationOf(method: string): "read" | "write" | undefined {
  if (method === "GET" || method === "HEAD") return "read";
  return method === "POST" ? "write" : undefined;
}

/** Limits of a path (PATH_MAX of Linux), and of user and expiration together: the server hashes them for every sandbox, without a key. */
const MAX_BYTES = { path: 4096, other: 256 } as const;

/** Signature of a file URL (docs/contract/agent.md, Signed URLs). */
export function fileSignature(file: SignedFile): string {
  return fileSignatureText(createHash("sha256").update(signedFileText(file)).digest("base64"));
}

/**
 * The running sandbox whose token made the signature of a file URL that names no sandbox (clients with `E2B_SANDBOX_URL` make such URLs). The
 * agent checks whether the signature has expired.
 */
export function findSigned(routes: RouteTable, method: string, target: string): Route | undefined {
  const query = new URLSearchParams(target.slice(target.indexOf("?") + 1));
  const operation = operationOf(method);
  // A plus sign that was not percent-encoded has become a space; base64 has no spaces.
  const given = Buffer.from((query.get("signature") ?? "").replaceAll(" ", "+"));
  if (!operation) return undefined;
  const path = query.get("path") ?? "";
  const user = query.get("username") ?? "";
  const expiration = query.get("signature_expiration") ?? undefined;
  if (Buffer.byteLength(path) > MAX_BYTES.path || Buffer.byteLength(user + (expiration ?? "")) > MAX_BYTES.other) return undefined;
  for (const route of routes.all()) {
    const wanted = Buffer.from(fileSignature({ path, operation, user, accessToken: route.accessToken, expiration }));
    if (wanted.byteLength === given.byteLength && timingSafeEqual(wanted, given)) return route;
  }
  return undefined;
}
