import type { SandboxDriver } from "@boxyard/driver";
import { mainVersion } from "./catalog.ts";
import type { Template } from "./templates.ts";

/** Whether the files of templates are on this machine: they are lost with the storage pool, while the store knows the templates still. */
export class TemplateFiles {
  private readonly driver: Pick<SandboxDriver, "capabilities" | "images">;

  constructor(driver: Pick<SandboxDriver, "capabilities" | "images">) {
    this.driver = driver;
  }

  /** True when the version that stands for the template cannot be started, because a layer of it is not there. */
  async areMissing(template: Template): Promise<boolean> {
    const main = mainVersion(template);
    const { capabilities, images } = this.driver;
    if (!main || !capabilities.images) return false;
    const present = await Promise.all(main.spec.image.layers.map((layer) => images.hasLayer(layer)));
    return present.includes(false);
  }
}
