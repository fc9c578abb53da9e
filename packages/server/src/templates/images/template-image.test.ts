import { expect, test } from "bun:test";
import { configBytes, settingsOf } from "../../registry/index.ts";
import { ConfigFile } from "../../registry/manifest.ts";
import type { TemplateSpec } from "../../store/index.ts";
import { imageOfTemplate, templateFactsOf } from "./template-image.ts";

test("the facts of a template are read back from its image, triggers included", () => {
  const commands = { startCmd: "serve", readyCmd: "true", onBuild: ["RUN x", "COPY a b"] };
  const spec = { image: { digest: "", layers: [] }, env: {}, user: "me", workdir: "/w", ...commands } as unknown as TemplateSpec;
  const config = ConfigFile.parse(JSON.parse(new TextDecoder().decode(configBytes(imageOfTemplate(spec)))));
  expect(templateFactsOf(settingsOf(config))).toEqual({ user: "me", workdir: "/w", ...commands });
});
