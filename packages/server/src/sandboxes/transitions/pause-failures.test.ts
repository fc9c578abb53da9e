import { expect, test } from "bun:test";
import { AppError } from "@boxyard/core";
import { storeFault } from "../../store/store-fault.ts";
import { TestServer } from "../../testing/test-server.ts";

/** An agent may hang before it is asked to freeze its commands, or after it has frozen them. */
test.each(["freeze", "keep"])(
  "a pause whose agent hangs before '%s' fails with the reason, and the sandbox runs on",
  async (step) => {
    let isSilent = false;
    const observer = {
      before(name: string) {
        if (name !== `pause ${step}` || isSilent) return;
        isSilent = true;
        agent().freeze();
        if (step === "keep") throw new Error("injected");
      },
    };
    await using s = await TestServer.start({ agentLimitMs: 1500, observer });
    const id = (await s.create()).sandboxID;
    const agent = () => {
      const found = s.world.sandboxes.get(id)?.agent;
      if (!found) throw new Error("gone");
      return found;
    };
    const pause = () => s.call("POST", `/sandboxes/${id}/pause`, {});
    const { status, headers, body } = await pause();
    expect([status, headers.get("should-retry"), agent().areCommandsFrozen]).toEqual([503, "false", false]);
    expect(body.message).toContain("could not be paused and runs on");
    if (step === "freeze") expect(body.message).toContain("agent does not answer");
    expect((await s.call("GET", `/sandboxes/${id}`)).body.state).toBe("running");
    agent().thaw();
    expect((await pause()).status).toBe(204);
  },
  30_000,
);

test("a pause that fails for lack of disk space says so, and may be sent again", async () => {
  await using s = await TestServer.start();
  const id = (await s.create()).sandboxID;
  const error = new AppError("resource_exhausted", "the storage pool has room for 3 MiB", { reason: "no_room_for_memory" });
  s.world.faults.add("pause", { kind: "fail", error });
  const { status, headers, body } = await s.call("POST", `/sandboxes/${id}/pause`, {});
  expect([status, headers.get("should-retry")]).toEqual([503, "true"]);
  expect(body.message).toBe("The sandbox could not be paused and runs on: the storage pool has room for 3 MiB");
  expect((await s.call("GET", `/sandboxes/${id}`)).body.state).toBe("running");
});

test.each(["pause", "snapshots", "fork"])("with a store that is full, '%s' says so by its code, and may be sent again", async (verb) => {
  await using s = await TestServer.start();
  const id = (await s.create()).sandboxID;
  const full = storeFault(Object.assign(new Error("full"), { code: "SQLITE_FULL" }));
  s.server.context.store.updateSandbox = () => Promise.reject(full);
  const { status, headers, body } = await s.call("POST", `/sandboxes/${id}/${verb}`, {});
  expect([status, headers.get("should-retry"), headers.get("retry-after"), body.error_code]).toEqual([503, "true", "1", "store_full"]);
  expect(body.message).toContain("has no room left on its disk; make some");
});

test.each(["pause", "snapshots", "fork", "connect"])(
  "with a store that is damaged, '%s' is not to be sent again, as a create",
  async (verb) => {
    await using s = await TestServer.start();
    const id = (await s.create()).sandboxID;
    if (verb === "connect") expect((await s.call("POST", `/sandboxes/${id}/pause`, {})).status).toBe(204);
    const broken = storeFault(Object.assign(new Error("malformed"), { code: "SQLITE_CORRUPT" }));
    s.server.context.store.updateSandbox = () => Promise.reject(broken);
    s.server.context.store.insertSandbox = () => Promise.reject(broken);
    const answers = await Promise.all([
      s.call("POST", `/sandboxes/${id}/${verb}`, verb === "connect" ? { timeout: 60 } : {}),
      s.call("POST", "/v2/sandboxes", { templateID: "base" }),
    ]);
    for (const { status, headers, body } of answers) {
      expect([status, headers.get("should-retry"), headers.get("retry-after")]).toEqual([500, null, null]);
      expect(body.message).toContain("is damaged, or no store at all (malformed); move it away");
    }
  },
);
