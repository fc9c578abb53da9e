import { afterEach, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { type ApiReply, eventually, type FaultPoint } from "@boxyard/testkit";
import { CREATE_POINTS, VOLUME_POINTS } from "@boxyard/testkit/fault-points";
import { usePlatform } from "../support/platform.ts";

/*
 * The real server is killed as by `kill -9` at each step of a volume's create, clone, resize and delete, and of a create of a sandbox that mounts one.
 * Afterwards a volume is whole or gone, on the disk too, and nobody holds it.
 */

const platform = usePlatform({ faults: true });

interface Listed {
  readonly volumeID: string;
  readonly name: string;
  readonly sizeMB: number;
}

const api = (method: "GET" | "POST" | "DELETE" | "PATCH", path: string, body?: object): Promise<ApiReply> =>
  platform().api({ method, path, ...(body && { body }) });
const listed = async () => (await api("GET", "/volumes")).body as Listed[];
const namesNow = async () => (await listed()).map(({ name }) => name).sort();
/** The directory is made with the first volume. */
const onDisk = (directory = join(platform().dataDir, "pool/volumes")) => (existsSync(directory) ? readdirSync(directory).sort() : []);

async function make(name: string, more: object = {}): Promise<{ volumeID: string; token: string }> {
  const made = await api("POST", "/volumes", { name, sizeMB: 16, ...more });
  expect(made.status).toBe(201);
  return made.body as { volumeID: string; token: string };
}

async function file(volume: { volumeID: string; token: string }, text?: string): Promise<string> {
  const answer = await fetch(`${platform().apiUrl}/volumecontent/${volume.volumeID}/file?path=note&force=true`, {
    method: text === undefined ? "GET" : "PUT",
    headers: { Authorization: `Bearer ${volume.token}` },
    ...(text !== undefined && { body: text }),
  });
  return answer.text();
}

/** Lets the server die at `point` of what `work` asks for, and starts it again. */
async function dieDuring(point: FaultPoint, work: () => Promise<unknown>): Promise<void> {
  platform().inject({ ...point, act: "die" });
  const answer = work().catch(() => undefined);
  await platform().died();
  expect(await answer).toBeUndefined();
  await platform().restart();
}

/** The list and the disk have the same volumes. */
async function agree(): Promise<void> {
  expect(onDisk()).toEqual((await listed()).map(({ volumeID }) => volumeID).sort());
}

const before = (points: readonly Omit<FaultPoint, "when">[]): FaultPoint[] => points.map((point) => ({ ...point, when: "before" }));
const afterLast = (points: readonly Omit<FaultPoint, "when">[]): FaultPoint => ({ ...(points.at(-1) as FaultPoint), when: "after" });

async function removeAll(): Promise<void> {
  // A sandbox that was half made is removed soon after the start, and has the volume until then.
  const isRemoved = async (id: string) => (await api("DELETE", `/volumes/${id}`)).status === 204;
  for (const { volumeID } of await listed()) await eventually(`${volumeID} is removed`, () => isRemoved(volumeID));
  expect(onDisk()).toEqual([]);
}
// Other files may have left some on this platform.
beforeAll(removeAll);
afterEach(removeAll);

describe("kill -9 in a create of a volume, and in a clone", () => {
  const points = [...before(VOLUME_POINTS.create), afterLast(VOLUME_POINTS.create)];
  for (const point of points) {
    const isWhole = point.when === "after";
    test(`${point.when} ${point.layer}'s ${point.step} leaves ${isWhole ? "the whole" : "nothing, and the name is free"}`, async () => {
      const headers = { "Idempotency-Key": crypto.randomUUID() };
      const ask = () => platform().api({ method: "POST", path: "/volumes", body: { name: "v", sizeMB: 16 }, headers });
      await dieDuring(point, ask);
      const left = await listed();
      expect(left.map(({ name }) => name)).toEqual(isWhole ? ["v"] : []);
      await agree();
      // The client whose answer was lost asks again, and gets this one, or makes it.
      const made = await ask();
      const volume = made.body as { volumeID: string; token: string };
      expect([made.status, await namesNow()]).toEqual([201, ["v"]]);
      if (isWhole) expect(volume.volumeID).toBe(left[0]?.volumeID ?? "");
      else await file(volume, "kept");
      await dieDuring(point, () => api("POST", "/volumes", { name: "w", from: "v" }));
      expect(await namesNow()).toEqual(isWhole ? ["v", "w"] : ["v"]);
      await agree();
      if (!isWhole) expect(await file(await make("w", { from: "v" }))).toBe("kept");
    }, 120_000);
  }
});

describe("kill -9 in a delete of a volume", () => {
  for (const point of [...before(VOLUME_POINTS.remove), VOLUME_POINTS.hidden]) {
    const isThere = point.step === VOLUME_POINTS.remove[0]?.step;
    test(`${point.when} ${point.layer}'s ${point.step} ${isThere ? "leaves it as it was" : "is finished by the next server"}`, async () => {
      const volume = await make("v");
      await file(volume, "kept");
      await dieDuring(point, () => api("DELETE", `/volumes/${volume.volumeID}`));
      expect(await namesNow()).toEqual(isThere ? ["v"] : []);
      await agree();
      if (isThere) expect(await file(volume)).toBe("kept");
      else expect((await api("DELETE", `/volumes/${volume.volumeID}`)).status).toBe(404);
    }, 60_000);
  }
});

describe("kill -9 in a resize of a volume", () => {
  for (const point of [...before(VOLUME_POINTS.resize), afterLast(VOLUME_POINTS.resize)]) {
    test(`${point.when} ${point.layer}'s ${point.step} leaves one size, everywhere`, async () => {
      const volume = await make("v");
      await dieDuring(point, () => api("PATCH", "/boxyard/volumes/v", { sizeMB: 32 }));
      const size = point.step === VOLUME_POINTS.resize[0]?.step ? 16 : 32;
      expect(await listed()).toMatchObject([{ sizeMB: size }]);
      expect((await api("GET", `/boxyard/volumes/${volume.volumeID}`)).body).toMatchObject({ sizeMB: size });
      expect((await api("PATCH", "/boxyard/volumes/v", { sizeMB: 24 })).body).toMatchObject({ sizeMB: 24 });
    }, 60_000);
  }
});

describe("kill -9 in a create of a sandbox with a volume", () => {
  const mounting = before(CREATE_POINTS.filter(({ layer }) => layer === "driver"));
  for (const point of mounting) {
    test(`before ${point.layer}'s ${point.step} leaves the volume to nobody`, async () => {
      const volume = await make("v");
      await file(volume, "kept");
      const volumeMounts = [{ name: "v", path: "/data" }];
      await dieDuring(point, () => api("POST", "/v2/sandboxes", { templateID: "base", volumeMounts }));
      expect((await api("GET", "/v2/sandboxes")).body).toEqual([]);
      expect(await file(volume)).toBe("kept");
    }, 60_000);
  }
});
