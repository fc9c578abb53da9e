/** A generator of committed files: `bun <script>` writes `output`. */
export interface Generator {
  readonly script: string;
  readonly output: string;
}

/** All generators, in order. The suite `generated` runs them, and fails if a committed file changes. */
export const generators: readonly Generator[] = [
  { script: "tools/generate/protobuf.ts", output: "packages/spec/src/generated/pb" },
  { script: "tools/generate/agent-codec.ts", output: "packages/spec/src/generated/agent" },
  { script: "packages/spec/src/platform/write-document.ts", output: "packages/spec/src/generated" },
  { script: "packages/spec/src/platform/write-types.ts", output: "packages/spec/src/generated" },
  { script: "packages/spec/src/agent-api/write-document.ts", output: "packages/spec/src/generated" },
  { script: "packages/spec/src/config/write-document.ts", output: "docs/configuration.md" },
  { script: "packages/sdk/src/publish/write-reference.ts", output: "docs/sdk.md" },
  { script: "tools/generate/access.ts", output: "docs/contract/access.md" },
  { script: "tools/generate/operations.ts", output: "docs/contract/operations.md" },
  // After the documents that they read.
  { script: "tools/generate/llms.ts", output: "packages/server/src/generated" },
  { script: "tools/generate/skill.ts", output: "docs/skills/boxyard/SKILL.md" },
];
