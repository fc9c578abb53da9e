export type { ModuleConfig, ModuleMetadata } from "./agent-call.js";
export { type AgentAddress, createSandboxTransport, probeHealth, type SandboxHealth } from "./agent-connection.js";
export { CommandHandle } from "./command-handle.js";
export { CommandExitError, type CommandResult } from "./command-result.js";
export { type CommandConnectOpts, type CommandRequestOpts, type CommandStartOpts, Commands, type ProcessInfo } from "./commands.js";
export { type ConnectionConfig, type ConnectionOptions, resolveConfig } from "./config.js";
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
} from "./errors.js";
export type { EntryInfo, EntryType, FileData, WriteEntry, WriteInfo } from "./file-types.js";
export { type FileOpts, Files, type ListOpts, type ReadOpts, type WriteOpts } from "./files.js";
export { Paginator } from "./paginator.js";
export type { CommandOutput, OutputStream, ProcessEnd } from "./process-events.js";
export { Pty, type PtyConnectOpts, type PtyCreateOpts, type PtySize } from "./pty.js";
export type { RequestOptions } from "./request-scope.js";
export { type FileUrlOpts, Sandbox, type SandboxConnectOpts, type SandboxCreateOpts, type SandboxListOpts } from "./sandbox.js";
export type { CreateOptions, LifecycleOptions, ListOptions } from "./sandbox-api.js";
export type { SandboxInfo, SandboxMetrics, SandboxState } from "./sandbox-info.js";
export { SDK_VERSION } from "./version.js";
export type { FileEvent, FileEventType, WatchHandle, WatchOpts } from "./watch.js";
