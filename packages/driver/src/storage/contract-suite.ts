import { expect, test } from "bun:test";
import { never as signal, TIMEOUT_MS } from "../contract-subject.ts";
import { freshTar, type LayerSubject, streamOf } from "../images-subject.ts";

/** Proves the guarantees of `StorageDriver`. */
export function storageTests(subject: LayerSubject): void {
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

  test(
    "removeLayer removes a layer, but not one that a sandbox uses",
    async () => {
      const { driver } = subject();
      const spec = subject().spec();
      const { digest } = await importTar(freshTar());
      const handle = await driver.create({ ...spec, image: { ...spec.image, layers: [...spec.image.layers, digest] } }, signal);
      const error = await driver.images.removeLayer(digest).catch((e: unknown) => e);
      expect(error).toMatchObject({ code: "failed_precondition", reason: "layer_in_use", details: { sandboxes: [handle.sandboxId] } });
      expect(await driver.images.hasLayer(digest)).toBe(true);
      await driver.destroy(handle);
      await driver.images.removeLayer(digest);
      await driver.images.removeLayer(digest);
      expect(await driver.images.hasLayer(digest)).toBe(false);
      expect((await driver.images.listLayers()).some((l) => l.digest === digest)).toBe(false);
    },
    TIMEOUT_MS,
  );
}
