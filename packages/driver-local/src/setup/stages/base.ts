import { existsSync, mkdirSync, statSync } from "node:fs";
import { importLayer } from "../../images/index.ts";
import { poolPaths } from "../../pool-storage/index.ts";
import { baseTar } from "../base/build.ts";
import { imageDigest } from "../base/image.ts";
import { machineRelease } from "../base/machine.ts";
import { readSettings, recipeKey, settingsKey, type TemplateSettings } from "../base/recipe.ts";
import { readVersioned, writeWhole } from "../files.ts";
import type { Stage } from "../types.ts";

/** `templates/<name>.json`, from which the server adds a template to its store at its start. */
interface TemplateFile extends TemplateSettings {
  readonly version: 1;
  readonly image: { readonly digest: string; readonly layers: readonly string[] };
}

const templateFile = (dataDir: string): string => `${dataDir}/templates/base.json`;

export const base: Stage = {
  name: "base",
  title: "base template",
  key: () => `${recipeKey(codenameOrUnknown())} ${settingsKey()}`,
  isDone({ dataDir }) {
    const file = readVersioned<TemplateFile>(templateFile(dataDir), 1);
    const { layers, facts } = poolPaths(dataDir);
    return file?.image.layers.every((layer) => [layers, facts].every((directory) => existsSync(`${directory}/${layer.slice(7)}`))) ?? false;
  },
  async prepare(config, report, signal) {
    await baseTar(config, report, { signal });
  },
  async run(config, report) {
    const tar = await baseTar(config, report);
    report.progress("unpacking");
    // Its digest comes from the import, which reads the tar anyway.
    const layer = await importLayer(config.dataDir, tar);
    const settings = readSettings();
    const digest = imageDigest({ layer, layerBytes: statSync(tar).size }, settings);
    const file: TemplateFile = { version: 1, ...settings, image: { digest, layers: [layer] } };
    mkdirSync(`${config.dataDir}/templates`, { recursive: true, mode: 0o755 });
    writeWhole(templateFile(config.dataDir), `${JSON.stringify(file, null, 2)}\n`);
    report.result(`${(statSync(tar).size / 1e6).toFixed(0)} MB`);
  },
};

/** The key must not fail: on another system `run` fails with the reason. */
function codenameOrUnknown(): string {
  try {
    return machineRelease().codename;
  } catch {
    return "unknown";
  }
}
