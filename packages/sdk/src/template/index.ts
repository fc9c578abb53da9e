/* `@boxyard/sdk/template`: making templates. For Node, Bun and Deno; it reads files. */
export { BuildError, type BuildOpts, type BuildSecret } from "./build.ts";
export { type CallSite, placeOf } from "./call-site.ts";
export type { ExportedImage, ExportOpts, PushedImage, PushOpts, PushProgress, Sink } from "./image-out.ts";
export { waitForFile, waitForPort, waitForProcess, waitForTimeout, waitForUrl } from "./ready.ts";
export type { RegistryAccess, SecretMount, TemplateRestrictions } from "./steps.ts";
export { Template } from "./template.ts";
export type { BuildRef, BuildResources, NewBuild } from "./template-api.ts";
export type {
  BuildLogEntry,
  BuildState,
  BuildStatus,
  TemplateBuild,
  TemplateInfo,
  TemplateSettings,
  TemplateTag,
} from "./template-info.ts";
export type { CopyOpts, DockerfileOpts, RunOpts, TemplateBuildOpts, TemplateOpts } from "./template-opts.ts";
export type { UploadOpts, UploadState } from "./upload.ts";
