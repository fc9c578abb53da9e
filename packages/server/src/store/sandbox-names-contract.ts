import { expect, test } from "bun:test";
import type { TeamId } from "@boxyard/core";
import { sampleRecord } from "./sample-record.ts";
import type { Store } from "./store.ts";

/** The part of `storeContract` about the names of sandboxes. */
export function sandboxNamesContract(current: () => Store): void {
  const named = (name: string, change: Parameters<typeof sampleRecord>[0] = {}) => sampleRecord({ state: "running", name, ...change });
  const TAKEN = { code: "already_exists", reason: "sandbox_name_taken" };

  test("has one living sandbox per team and name; one that is being removed has it no more", async () => {
    const first = named("web");
    await current().insertSandbox(first);
    expect(await current().getSandbox(first.id)).toEqual(first);
    await expect(current().insertSandbox(named("web"))).rejects.toMatchObject(TAKEN);
    await current().insertSandbox(named("web", { teamId: "other" as TeamId }));
    await current().updateSandbox(first.id, ["running"], { state: "killing" });
    const second = named("web");
    await current().insertSandbox(second);
    await current().updateSandbox(first.id, ["killing"], { state: "dead", endedAt: 5 });
    expect(await current().listFormerNames(10)).toEqual([{ id: first.id, teamId: first.teamId, name: "web" }]);
  });

  test("renames only to a free name, and takes a name away", async () => {
    const [web, job] = [named("web"), named("job")];
    for (const record of [web, job]) await current().insertSandbox(record);
    await expect(current().updateSandbox(job.id, ["running"], { name: "web" })).rejects.toMatchObject(TAKEN);
    expect((await current().getSandbox(job.id))?.name).toBe("job");
    expect(await current().updateSandbox(web.id, ["running"], { name: undefined })).toBe(true);
    expect(await current().updateSandbox(job.id, ["running"], { name: "web" })).toBe(true);
    expect([(await current().getSandbox(web.id))?.name, (await current().getSandbox(job.id))?.name]).toEqual([undefined, "web"]);
  });
}
