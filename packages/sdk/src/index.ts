export { CommandHandle } from "./commands/command-handle.ts";
export { CommandExitError, type CommandResult } from "./commands/command-result.ts";
export {
  type CommandConnectOpts,
  type CommandRequestOpts,
  type CommandStartOpts,
  Commands,
  type ProcessInfo,
} from "./commands/commands.ts";
export type { CommandOutput, OutputStream, ProcessEnd } from "./commands/process-events.ts";
export type { ModuleConfig, ModuleMetadata } from "./connection/agent-call.ts";
export { type AgentAddress, createSandboxTransport, probeHealth, type SandboxHealth } from "./connection/agent-connection.ts";
export { type ConnectionConfig, type ConnectionOptions, resolveConfig } from "./connection/config.ts";
export type { Probe, ProbeResult } from "./connection/lost-connection.ts";
export type { RequestOptions } from "./connection/request-scope.ts";
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
export type { FileOpts, ListOpts, ReadOpts, WriteOpts } from "./files/file-options.ts";
export type { EntryInfo, EntryType, FileData, WriteEntry, WriteInfo } from "./files/file-types.ts";
export { Files } from "./files/files.ts";
export type { UploadProgress } from "./files/upload-parts.ts";
export type { FileEvent, FileEventType, WatchHandle, WatchOpts } from "./files/watch.ts";
export {
  Git,
  type GitBranches,
  type GitCloneOpts,
  type GitCommitOpts,
  type GitInitOpts,
  type GitPushOpts,
  type GitRemoteOpts,
} from "./git/git.ts";
export type { GitCredentials, GitOpts } from "./git/git-run.ts";
export type { GitChange, GitFileStatus, GitStatus } from "./git/git-status.ts";
export { type ApiKeyInfo, ApiKeys, type KeyScope, type NewApiKey, type NewKeyOptions } from "./keys/api-keys.ts";
export {
  type NewTeam,
  type NewTeamOptions,
  type Retention,
  type RetentionRule,
  type TeamChangeOptions,
  type TeamInfo,
  type TeamLimits,
  Teams,
  type TeamWithLimits,
} from "./keys/teams.ts";
export { Pty, type PtyConnectOpts, type PtyCreateOpts, type PtySize } from "./pty/pty.ts";
export {
  type ImportedRecording,
  type RecordedExchange,
  type RecordingDetail,
  type RecordingGetOptions,
  type RecordingInfo,
  Recordings,
} from "./recordings/recordings.ts";
export type { EgressProxy, EgressRules, NetworkRule, NetworkSecret } from "./sandbox/egress-rules.ts";
export type { NamedOptions } from "./sandbox/named-api.ts";
export type { NetworkLogEntry, NetworkLogOptions, SuggestedNetwork } from "./sandbox/network-log.ts";
export { Paginator } from "./sandbox/paginator.ts";
export type { PortAccess, PortFetchOpts } from "./sandbox/port-access.ts";
export type { PortUrlOptions, SignedPortUrl } from "./sandbox/port-links.ts";
export { type ForkResult, Sandbox, type SandboxNamedOpts } from "./sandbox/sandbox.ts";
export type {
  CreateOptions,
  LifecycleOptions,
  ListOptions,
  LogOptions,
  NetworkOptions,
  NetworkUpdate,
  SandboxResources,
} from "./sandbox/sandbox-api.ts";
export type { RollbackResult, SandboxInfo, SandboxLogEntry, SandboxMetrics, SandboxState, SnapshotInfo } from "./sandbox/sandbox-info.ts";
export type { FileUrlOpts, SandboxConnectOpts, SandboxCreateOpts, SandboxListOpts, SnapshotListOpts } from "./sandbox/sandbox-options.ts";
export { SandboxPorts } from "./sandbox/sandbox-ports.ts";
export type { ForkOptions, PauseOptions, SnapshotListOptions, SnapshotOptions } from "./sandbox/snapshot-api.ts";
export { type SecretInfo, type SecretListOptions, type SecretOptions, Secrets } from "./secrets/secrets.ts";
export { type DayUsage, type SandboxUsage, Usage, type UsageInfo, type UsageOptions } from "./usage/usage.ts";
export { SDK_VERSION } from "./version.ts";
export { Volume, type VolumeCreateOpts, type VolumeKeyOptions, type VolumeSizeOptions } from "./volumes/volume.ts";
export {
  VolumeFiles,
  type VolumeListOpts,
  type VolumeMakeDirOpts,
  type VolumeReadOpts,
  type VolumeWriteOpts,
} from "./volumes/volume-files.ts";
export type {
  MountedVolume,
  VolumeAttributes,
  VolumeEntry,
  VolumeInfo,
  VolumeMountOptions,
  VolumeMounts,
  VolumeRef,
} from "./volumes/volume-types.ts";
export {
  type NewWebhook,
  type WebhookCreateOptions,
  type WebhookDelivery,
  type WebhookInfo,
  type WebhookSettings,
  Webhooks,
} from "./webhooks/webhooks.ts";
