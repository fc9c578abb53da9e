import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { buildPackage } from "./build.ts";

const PACKAGE = resolve(import.meta.dir, "../..");
const OUTPUT = resolve(PACKAGE, "../../docs/sdk.md");

const SNAPSHOTS = ["SnapshotOptions", "SnapshotInfo", "RollbackResult", "SnapshotListOpts", "SnapshotListOptions"];
const RECORDINGS = ["Recordings", "RecordingInfo", "RecordingDetail", "RecordedExchange", "RecordingGetOptions", "ImportedRecording"];
const TEMPLATES = ["TemplateInfo", "TemplateBuild", "TemplateSettings", "TemplateTag"];
const VOLUME_OPTIONS = ["VolumeCreateOpts", "VolumeSizeOptions", "VolumeKeyOptions"];
/** What the reference shows, in the order in which a reader meets it. An export that is in no chapter is an error. */
const CHAPTERS: readonly { readonly title: string; readonly names: readonly string[] }[] = [
  {
    title: "Sandboxes",
    names: [
      "Sandbox",
      "SandboxPorts",
      "SandboxCreateOpts",
      "CreateOptions",
      "LifecycleOptions",
      "NetworkOptions",
      "EgressRules",
      "NetworkRule",
      "NetworkSecret",
      "EgressProxy",
      "NetworkUpdate",
      "SandboxNamedOpts",
      "NamedOptions",
      "SandboxResources",
      "SandboxConnectOpts",
      "SandboxListOpts",
      "ListOptions",
      "FileUrlOpts",
      "PortAccess",
      "PortFetchOpts",
      "NetworkLogEntry",
      "NetworkLogOptions",
      "SuggestedNetwork",
      "PortUrlOptions",
      "SignedPortUrl",
      "SandboxInfo",
      "SandboxState",
      "SandboxMetrics",
      "LogOptions",
      "SandboxLogEntry",
      "Paginator",
    ],
  },
  { title: "Connections of TCP (@boxyard/sdk/tcp)", names: ["connectTcp"] },
  { title: "Pause, forks and snapshots", names: ["PauseOptions", "ForkOptions", "ForkResult", ...SNAPSHOTS] },
  {
    title: "Volumes",
    names: [
      "Volume",
      ...VOLUME_OPTIONS,
      "VolumeInfo",
      "VolumeMounts",
      "VolumeRef",
      "VolumeMountOptions",
      "MountedVolume",
      "VolumeFiles",
      "VolumeReadOpts",
      "VolumeWriteOpts",
      "VolumeListOpts",
      "VolumeMakeDirOpts",
      "VolumeEntry",
      "VolumeAttributes",
    ],
  },
  { title: "Recordings", names: RECORDINGS },
  {
    title: "Commands",
    names: [
      "Commands",
      "CommandRequestOpts",
      "CommandStartOpts",
      "CommandConnectOpts",
      "CommandHandle",
      "CommandResult",
      "CommandExitError",
      "CommandOutput",
      "OutputStream",
      "ProcessEnd",
      "ProcessInfo",
    ],
  },
  { title: "Terminals", names: ["Pty", "PtyCreateOpts", "PtyConnectOpts", "PtySize"] },
  {
    title: "Files",
    names: [
      "Files",
      "FileOpts",
      "ReadOpts",
      "WriteOpts",
      "ListOpts",
      "FileData",
      "WriteEntry",
      "UploadProgress",
      "WriteInfo",
      "EntryInfo",
      "EntryType",
      "WatchOpts",
      "WatchHandle",
      "FileEvent",
      "FileEventType",
    ],
  },
  {
    title: "Git",
    names: [
      "Git",
      "GitOpts",
      "GitCredentials",
      "GitCloneOpts",
      "GitInitOpts",
      "GitCommitOpts",
      "GitRemoteOpts",
      "GitPushOpts",
      "GitBranches",
      "GitStatus",
      "GitFileStatus",
      "GitChange",
    ],
  },
  {
    title: "Templates (@boxyard/sdk/template)",
    names: [
      "Template",
      "TemplateOpts",
      "DockerfileOpts",
      "CopyOpts",
      "RegistryAccess",
      "TemplateRestrictions",
      "waitForPort",
      "waitForUrl",
      "waitForProcess",
      "waitForFile",
      "waitForTimeout",
      "RunOpts",
      "SecretMount",
      "TemplateBuildOpts",
      "BuildOpts",
      "BuildSecret",
      "UploadOpts",
      "BuildResources",
      "UploadState",
      "BuildLogEntry",
      "NewBuild",
      "BuildRef",
      "BuildStatus",
      "BuildState",
      "BuildError",
      "CallSite",
      "placeOf",
      ...TEMPLATES,
      "PushOpts",
      "PushProgress",
      "PushedImage",
      "ExportOpts",
      "ExportedImage",
      "Sink",
    ],
  },
  {
    title: "API keys and teams",
    names: [
      "ApiKeys",
      "NewKeyOptions",
      "KeyScope",
      "ApiKeyInfo",
      "NewApiKey",
      "Teams",
      "NewTeamOptions",
      "TeamChangeOptions",
      "TeamInfo",
      "TeamWithLimits",
      "TeamLimits",
      "Retention",
      "RetentionRule",
      "NewTeam",
    ],
  },
  { title: "Secrets", names: ["Secrets", "SecretOptions", "SecretListOptions", "SecretInfo"] },
  { title: "Webhooks", names: ["Webhooks", "WebhookCreateOptions", "WebhookSettings", "WebhookInfo", "NewWebhook", "WebhookDelivery"] },
  { title: "Usage", names: ["Usage", "UsageInfo", "SandboxUsage", "DayUsage", "UsageOptions"] },
  {
    title: "Connection",
    names: [
      "ConnectionOptions",
      "ConnectionConfig",
      "resolveConfig",
      "RequestOptions",
      "AgentAddress",
      "createSandboxTransport",
      "ModuleConfig",
      "ModuleMetadata",
      "SandboxHealth",
      "probeHealth",
      "Probe",
      "ProbeResult",
      "SDK_VERSION",
    ],
  },
  {
    title: "Errors",
    names: [
      "BoxyardError",
      "ErrorCode",
      "ErrorOptions",
      "AuthenticationError",
      "InvalidArgumentError",
      "NotFoundError",
      "ConflictError",
      "RateLimitError",
      "NotEnoughSpaceError",
      "TimeoutError",
      "AbortError",
      "SandboxEndedError",
      "ConnectionError",
      "UnsupportedError",
    ],
  },
];

const HEAD = `<!-- Written by packages/sdk/src/publish/write-reference.ts; edit tasks.md beside it for the tasks, and the docstrings for the reference. -->
# @boxyard/sdk

The TypeScript client, for Node from 20 on, browsers, Deno and Bun. First eleven tasks as complete programs, then the reference. More programs are in
[examples](../examples).

In Node, Deno and Bun the server and the key come from \`BOXYARD_API_URL\` and \`BOXYARD_API_KEY\` (\`eval "$(boxyard env)"\`), in a browser
from options. Where a runtime has no \`await using\`, call \`kill()\` in a \`finally\`.

The client takes a little more time than a hand-written request (\`./boxyard bench sdk\`, on Bun, on two cores under a load of 15): 0.3 to 1.2 ms more
for a command, with 0.5 to 0.8 ms of CPU time; 0.04 to 0.13 ms more for a read of 1 kB, with 0.02 to 0.04 ms of CPU time. The limit is 1 ms on a
quiet machine.
`;

/** Names that the package exports, with the module each comes from. */
function exportsOf(directory: string, below: string): Map<string, string> {
  const index = readFileSync(join(directory, below, "index.d.ts"), "utf8");
  const found = new Map<string, string>();
  for (const [, names = "", module = ""] of index.matchAll(/export (?:type )?\{([^}]*)\} from "\.\/([^"]+)\.js"/g)) {
    for (const name of names.split(",").map((text) => text.replace("type ", "").trim())) if (name) found.set(name, `${below}${module}`);
  }
  return found;
}

/** The declaration of `name` with its docstring, without what is private. */
function declarationOf(text: string, name: string): string {
  const start = new RegExp(`^export (?:declare )?(?:abstract )?(?:class|interface|type|function|const) ${name}\\b`, "m").exec(text);
  if (!start) throw new Error(`no declaration of ${name}`);
  const lines = text.slice(start.index).split("\n");
  const first = lines[0] ?? "";
  // One line, unless it opens a block: then up to the line that closes it.
  const end = /[{(|=]$/.test(first.trim()) ? lines.findIndex((line, i) => i > 0 && /^(\}|\).*|[^\s].*);?$/.test(line)) : 0;
  return [...docstringBefore(text, start.index), ...withoutPrivate(lines.slice(0, end + 1))]
    .join("\n")
    .replace(/^export (declare )?/gm, "")
    .replaceAll("[asyncDispose]", "[Symbol.asyncDispose]")
    .replaceAll("calls.", "");
}

/** Leaves out private members with their docstrings. */
function withoutPrivate(lines: readonly string[]): string[] {
  const kept: string[] = [];
  for (const line of lines) {
    if (!/^\s+(?:private|protected) /.test(line)) kept.push(line);
    else if (kept.at(-1)?.trim().endsWith("*/")) while (!kept.pop()?.trim().startsWith("/**"));
  }
  return kept;
}

function docstringBefore(text: string, at: number): string[] {
  const before = text.slice(0, at).trimEnd();
  if (!before.endsWith("*/")) return [];
  return before.slice(before.lastIndexOf("/**")).split("\n");
}

const tasks = readFileSync(join(import.meta.dir, "tasks.md"), "utf8");
const built = mkdtempSync(join(PACKAGE, ".reference-"));
try {
  const directory = join(built, "package");
  await buildPackage(directory);
  const exported = new Map([...exportsOf(directory, ""), ...exportsOf(directory, "template/"), ...exportsOf(directory, "tcp/")]);
  const shown = CHAPTERS.flatMap(({ names }) => names);
  const missing = [...exported.keys()].filter((name) => !shown.includes(name));
  if (missing.length > 0) throw new Error(`exported, and in no chapter of the reference: ${missing.join(", ")}`);
  const chapters = CHAPTERS.map(({ title, names }) => {
    const entries = names.map((name) => {
      const text = readFileSync(join(directory, `${exported.get(name)}.d.ts`), "utf8");
      return `### ${name}\n\n\`\`\`\`ts\n${declarationOf(text, name)}\n\`\`\`\``;
    });
    return `## ${title}\n\n${entries.join("\n\n")}`;
  });
  writeFileSync(OUTPUT, `${HEAD}\n${tasks}\n${chapters.join("\n\n")}\n`);
} finally {
  rmSync(built, { recursive: true, force: true });
}
