import { AppError } from "@boxyard/core";
import type { LayerInfo, LayerStorage } from "../storage/layers.ts";
import type { FakeWorld } from "./world.ts";

/** Layers of a fake world: tars in memory, never unpacked. */
export class FakeLayers implements LayerStorage {
  protected readonly world: FakeWorld;

  constructor(world: FakeWorld) {
    this.world = world;
  }

  async hasLayer(digest: string): Promise<boolean> {
    return this.world.layers.has(digest);
  }

  async getLayer(digest: string): Promise<LayerInfo> {
    return this.known(digest).info;
  }

  async listLayers(): Promise<readonly LayerInfo[]> {
    return [...this.world.layers.values()].map((layer) => layer.info);
  }

  removeLayer(digest: string): Promise<void> {
    return this.world.faults.around("removeLayer", undefined, async () => {
      const sandboxes = [...this.world.sandboxes.values()]
        .filter((s) => s.damaged || s.spec.image.layers.includes(digest))
        .map((s) => s.handle.sandboxId);
      if (sandboxes.length > 0) {
        throw new AppError("failed_precondition", `Layer ${digest} is in use`, { reason: "layer_in_use", details: { sandboxes } });
      }
      const snapshots = [...this.world.snapshots.values()]
        .filter(({ info, damaged }) => damaged || info.layers.includes(digest))
        .map(({ info }) => info.id);
      if (snapshots.length > 0) {
        throw new AppError("failed_precondition", `Layer ${digest} is in use`, { reason: "layer_in_use", details: { snapshots } });
      }
      this.world.layers.delete(digest);
    });
  }

  protected known(digest: string) {
    const layer = this.world.layers.get(digest);
    if (!layer) throw new AppError("not_found", `There is no layer ${digest}`, { reason: "layer_not_found" });
    return layer;
  }
}
