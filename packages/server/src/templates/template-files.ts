import { isAppError } from "@boxyard/core";
import type { LayerInfo, SandboxDriver } from "@boxyard/driver";
import { mainVersion } from "./catalog.ts";
import type { Template } from "./templates.ts";

/** Tells whether the files of templates are on this machine. After the loss of the storage pool, the store still has the templates. */
export class TemplateFiles {
  private readonly driver: Pick<SandboxDriver, "capabilities" | "images">;

  constructor(driver: Pick<SandboxDriver, "capabilities" | "images">) {
    this.driver = driver;
  }

  /** What is known of a layer; undefined when it is not on this machine. */
  async layer(digest: string): Promise<LayerInfo | undefined> {
    const { capabilities, images } = this.driver;
    if (!capabilities.images) return undefined;
    try {
      return await images.getLayer(digest);
    } catch (error) {
      if (isAppError(error, "not_found")) return undefined;
      throw error;
    }
  }

  /** True when a layer of the template's main version is not on this machine, so no sandbox can start from it. */
  async areMissing(template: Template): Promise<boolean> {
    const main = mainVersion(template);
    const { capabilities, images } = this.driver;
    if (!main || !capabilities.images) return false;
    const present = await Promise.all(main.spec.image.layers.map((layer) => images.hasLayer(layer)));
    return present.includes(false);
  }
}
