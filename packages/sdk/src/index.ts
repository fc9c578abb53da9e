export type { ModuleConfig, ModuleMetadata } from "./agent-call.ts";
export { type AgentAddress, createSandboxTransport, probeHealth, type SandboxHealth } from "./agent-connection.ts";
export { type ApiKeyInfo, ApiKeys, type NewApiKey } from "./api-keys.ts";
export { CommandHandle } from "./command-handle.ts";
export { CommandExitError, type CommandResult } from "./command-result.ts";
export {
  type CommandConnectOpts,
  type CommandRequestOpts,
  type CommandStartOpts,
  Commands,
  type ProcessInfo,
} from "./commands.ts";
export { type ConnectionConfig, type ConnectionOptions, resolveConfig } from "./config.ts";
export {
  AbortError,
  AuthenticationError,
  BoxyardError,
  ConflictError,
  ConnectionError,
  type ErrorCode,
  type ErrorOptions,
  InvalidArgumentError,
  NotEnoughSpaceError,
  NotFoundError,
  RateLimitError,
  SandboxEndedError,
  TimeoutError,
  UnsupportedError,
} from "./errors.ts";
export type { EntryInfo, EntryType, FileData, WriteEntry, WriteInfo } from "./file-types.ts";
export { type FileOpts, Files, type ListOpts, type ReadOpts, type WriteOpts } from "./files.ts";
export {
  Git,
  type GitBranches,
  type GitCloneOpts,
  type GitCommitOpts,
  type GitInitOpts,
  type GitPushOpts,
  type GitRemoteOpts,
} from "./git.ts";
export type { GitCredentials, GitOpts } from "./git-run.ts";
export type { GitChange, GitFileStatus, GitStatus } from "./git-status.ts";
export type { Probe, ProbeResult } from "./lost-connection.ts";
export { Paginator } from "./paginator.ts";
export type { CommandOutput, OutputStream, ProcessEnd } from "./process-events.ts";
export { Pty, type PtyConnectOpts, type PtyCreateOpts, type PtySize } from "./pty.ts";
export type { RequestOptions } from "./request-scope.ts";
export {
  type FileUrlOpts,
  type ForkResult,
  Sandbox,
  type SandboxConnectOpts,
  type SandboxCreateOpts,
  type SandboxListOpts,
  type SnapshotListOpts,
} from "./sandbox.ts";
export type {
  CreateOptions,
  EgressRules,
  LifecycleOptions,
  ListOptions,
  LogOptions,
  NetworkOptions,
  NetworkUpdate,
} from "./sandbox-api.ts";
export type { SandboxInfo, SandboxLogEntry, SandboxMetrics, SandboxState, SnapshotInfo } from "./sandbox-info.ts";
export type { ForkOptions, PauseOptions, SnapshotListOptions, SnapshotOptions } from "./snapshot-api.ts";
export type { UploadProgress } from "./upload-parts.ts";
export { SDK_VERSION } from "./version.ts";
export type { FileEvent, FileEventType, WatchHandle, WatchOpts } from "./watch.ts";
