import { expect, test } from "bun:test";
import { FakeClock } from "@boxyard/core";
import type { AgentContext } from "../contracts.ts";
import { authorise, signatureOf } from "./access.ts";

const TOKEN = "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0";
const NOW = 1_800_000_000;

/** Asks for a file with a valid signature, half a second into `NOW`. */
function ask(expiration: number): void {
  const ctx = { state: { accessToken: TOKEN }, clock: new FakeClock(NOW * 1000 + 500) } as unknown as AgentContext;
  const signature = signatureOf("p", "read", "", TOKEN, String(expiration));
  const request = new Request("http://agent/files");
  const query = new URLSearchParams({ path: "p", signature, signature_expiration: String(expiration) });
  authorise(ctx, { request, signal: request.signal, query }, "read");
}

test("a signed URL is valid to the end of the second in which it expires", () => {
  ask(NOW + 1);
  ask(NOW);
  for (const earlier of [NOW - 1, 0, -5]) expect(() => ask(earlier)).toThrow("signature is already expired");
});

test("the test vector of the contract (docs/contract/agent.md, Signed URLs)", () => {
  expect(signatureOf("hello.txt", "read", "user", TOKEN)).toBe("v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E");
});
