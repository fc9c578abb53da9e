import { expect, test } from "bun:test";
import { boot, failure, type Subject, never as signal, TIMEOUT_MS } from "../subject.ts";
import { freshTar, streamOf } from "../tars.ts";

/** Tests the guarantees of `StorageDriver` for layers. */
export function layerTests(subject: Subject): void {
  const importTar = (tar: Uint8Array) => subject().driver.images.importLayer(streamOf(tar), { signal });

  test(
    "a layer survives a restart",
    async () => {
      const layer = await importTar(freshTar());
      await subject().reopen();
      expect(await subject().driver.images.getLayer(layer.digest)).toEqual(layer);
    },
    TIMEOUT_MS,
  );

  test("a sandbox on more layers than the driver's maximum is refused, and leaves nothing", async () => {
    const { driver } = subject();
    const { image, ...spec } = subject().spec();
    const { maxLayers } = driver.capabilities;
    expect(maxLayers).toBeGreaterThan(0);
    const layers = Array.from({ length: maxLayers + 1 }, (_, i) => image.layers[i] ?? `sha256:${String(i).padStart(64, "0")}`);
    expect(await failure(driver.create({ ...spec, image: { ...image, layers } }, signal))).toBe("invalid_argument too_many_layers");
    expect(await driver.list()).toEqual([]);
  });

  test(
    "removeLayer removes a layer, but not one that a sandbox uses, nor any while a sandbox is damaged",
    async () => {
      const { driver } = subject();
      const spec = subject().spec();
      const { digest } = await importTar(freshTar());
      const handle = await driver.create({ ...spec, image: { ...spec.image, layers: [...spec.image.layers, digest] } }, signal);
      const error = await driver.images.removeLayer(digest).catch((e: unknown) => e);
      expect(error).toMatchObject({ code: "failed_precondition", reason: "layer_in_use", details: { sandboxes: [handle.sandboxId] } });
      const { digest: free } = await importTar(freshTar());
      await subject().damage({ sandbox: handle });
      for (const layer of [digest, free]) expect(await failure(driver.images.removeLayer(layer))).toBe("failed_precondition layer_in_use");
      await subject().mend();
      await driver.images.removeLayer(free);
      expect(await driver.images.hasLayer(digest)).toBe(true);
      await driver.destroy(handle);
      await driver.images.removeLayer(digest);
      await driver.images.removeLayer(digest);
      expect(await driver.images.hasLayer(digest)).toBe(false);
      expect((await driver.images.listLayers()).some((l) => l.digest === digest)).toBe(false);
    },
    TIMEOUT_MS,
  );

  test(
    "removeLayer does not remove a layer that a snapshot stands on, nor any while a snapshot is damaged",
    async () => {
      const { driver } = subject();
      if (!driver.capabilities.snapshots) return;
      const spec = subject().spec();
      const [{ digest }, { digest: free }] = [await importTar(freshTar()), await importTar(freshTar())];
      const handle = await boot(subject(), { ...spec, image: { ...spec.image, layers: [...spec.image.layers, digest] } });
      await driver.snapshots.capture(handle, { id: "s", memory: false }, signal);
      await driver.destroy(handle);
      const remove = (layer: string) => driver.images.removeLayer(layer).catch((e: unknown) => e);
      const inUse = { code: "failed_precondition", reason: "layer_in_use", details: { snapshots: ["s"] } };
      expect(await remove(digest)).toMatchObject(inUse);
      await subject().damage({ snapshot: "s" });
      expect([await remove(digest), await remove(free)]).toMatchObject([inUse, inUse]);
      await subject().mend();
      expect(await remove(free)).toBeUndefined();
      expect(await driver.images.hasLayer(digest)).toBe(true);
      await driver.snapshots.remove("s");
      expect(await remove(digest)).toBeUndefined();
      expect([await driver.images.hasLayer(digest), await driver.images.hasLayer(free)]).toEqual([false, false]);
    },
    TIMEOUT_MS,
  );
}
