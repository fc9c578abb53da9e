export { createSandboxTransport, probeHealth } from "./agent-connection.js";
export { CommandHandle } from "./command-handle.js";
export { CommandExitError } from "./command-result.js";
export { Commands } from "./commands.js";
export { resolveConfig } from "./config.js";
export {
  AbortError,
  AuthenticationError,
  BoxyardError,
  ConflictError,
  ConnectionError,
  InvalidArgumentError,
  NotEnoughSpaceError,
  NotFoundError,
  RateLimitError,
  SandboxEndedError,
  TimeoutError,
  UnsupportedError,
} from "./errors.js";
export { Files } from "./files.js";
export { Paginator } from "./paginator.js";
export { Pty } from "./pty.js";
export { Sandbox } from "./sandbox.js";
export { SDK_VERSION } from "./version.js";
