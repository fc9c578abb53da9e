/*
 * Choice of the content coding of an answer (RFC 9110 section 12.5.3): gzip or identity.
 */

export type Coding = "gzip" | "identity";

function weights(header: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const item of header.split(",")) {
    const [coding = "", ...parameters] = item.split(";").map((s) => s.trim().toLowerCase());
    if (coding === "") continue;
    const q = parameters.find((p) => p.startsWith("q="))?.slice(2);
    const weight = q === undefined ? 1 : Number(q);
    found.set(coding === "x-gzip" ? "gzip" : coding, Number.isFinite(weight) ? Math.min(Math.max(weight, 0), 1) : 0);
  }
  return found;
}

/**
 * The coding to send, undefined when none is acceptable (406). gzip only for a client that asks for it: by weight above identity, or by
 * naming no other coding. A list such as fetch's own `gzip, deflate, br` only says what the client can read; identity is then quicker for both
 * sides (docs/contract/agent.md, Files).
 */
export function chooseCoding(header: string | null): { readonly coding: Coding; readonly identityAllowed: boolean } | undefined {
  const listed = weights(header ?? "");
  const rest = listed.get("*");
  const gzip = listed.get("gzip") ?? 0;
  const identity = listed.get("identity") ?? rest ?? 1;
  if (identity <= 0) {
    // `*` stands for gzip as well where gzip is not named.
    const allowed = listed.has("gzip") ? gzip : (rest ?? 0);
    return allowed > 0 ? { coding: "gzip", identityAllowed: false } : undefined;
  }
  const others = [...listed.keys()].some((coding) => coding !== "gzip" && coding !== "identity" && coding !== "*");
  const asked = listed.has("identity") || rest !== undefined ? gzip > identity : gzip > 0 && !others;
  return { coding: asked ? "gzip" : "identity", identityAllowed: true };
}
