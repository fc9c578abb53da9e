import { expect, test } from "bun:test";
import { configBytes, settingsOf } from "../../registry/index.ts";
import { ConfigFile } from "../../registry/manifest.ts";
import type { TemplateSpec } from "../../store/index.ts";
import { imageOfTemplate, templateFactsOf } from "./template-image.ts";

test("a template's image says again what the template was, its triggers too", () => {
  const commands = { startCmd: "serve", readyCmd: "true", onBuild: ["RUN x", "COPY a b"] };
  const spec = { image: { digest: "", layers: [] }, env: {}, user: "me", workdir: "/w", ...commands } as unknown as TemplateSpec;
  const config = ConfigFile.parse(JSON.parse(new TextDecoder().decode(configBytes(imageOfTemplate(spec)))));
  expect(templateFactsOf(settingsOf(config))).toEqual({ user: "me", workdir: "/w", ...commands });
});
