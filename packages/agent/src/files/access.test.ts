import { expect, test } from "bun:test";
import { FakeClock } from "@boxyard/core";
import type { AgentContext } from "../contracts.ts";
import { authorise, signatureOf } from "./access.ts";

const TOKEN = "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0";
const NOW = 1_800_000_000;

/** Asks for a file with a valid signature, half a second into `NOW`. */
const ask = (expiration: number) => askAs(String(expiration), String(expiration));

/** `signed`: the expiration that the signature has; `paths`: further ones in the query. */
function askAs(expiration: string, signed: string, ...paths: string[]): void {
  const ctx = { state: { accessToken: TOKEN }, clock: new FakeClock(NOW * 1000 + 500) } as unknown as AgentContext;
  const signature = signatureOf("p", "read", "", TOKEN, signed);
  const request = new Request("http://agent/files");
  const query = new URLSearchParams({ path: "p", signature, signature_expiration: expiration });
  for (const path of paths) query.append("path", path);
  authorise(ctx, { request, signal: request.signal, query }, "read");
}

test("a signed URL is valid to the end of the second in which it expires", () => {
  ask(NOW + 1);
  ask(NOW);
  for (const earlier of [NOW - 1, 0, -5]) expect(() => ask(earlier)).toThrow("signature is already expired");
});

test("what two readers could read in two ways is refused: an expiration with a plus sign, and a second path", () => {
  const later = String(NOW + 1);
  expect(() => askAs(`+${later}`, later)).toThrow("signature_expiration is not an integer");
  expect(() => askAs(later, later, "q")).toThrow("path is given more than once");
});

test("the test vector of the contract (docs/contract/agent.md, Signed URLs)", () => {
  expect(signatureOf("hello.txt", "read", "user", TOKEN)).toBe("v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E");
});
