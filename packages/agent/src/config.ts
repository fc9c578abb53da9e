import { AGENT_PORT } from "@boxyard/spec";

/** Addresses and paths of the agent inside a sandbox. Each can be set, for tests that run the agent elsewhere. */
export interface AgentConfig {
  readonly hostname: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Set where the key does not arrive on standard input (a pod, a test). */
  readonly initKey: string | undefined;
  readonly launchPath: string;
  /** The sandbox's own cgroup v2. */
  readonly cgroupRoot: string;
  /** The sandbox's directories in cgroup v1 hierarchies (`memory`, `cpuacct`, …), empty where the machine has none. */
  readonly cgroupV1Root: string;
  /** Facts from the driver: `limits.json`, `disk.json`. */
  readonly hostDir: string;
  readonly etcDir: string;
  /** Facts for programs: `.E2B_SANDBOX` and the like. */
  readonly runDir: string;
  /** Certificates that programs trust; a CA bundle of `/init` is added to it. */
  readonly caBundlePath: string;
  /** The same for Java, where the image has it. */
  readonly javaStorePath: string;
  /** The agent thaws after this time by itself: the server may have ended in the middle of a pause. */
  readonly freezeWatchdogMs: number;
}

const FREEZE_WATCHDOG_MS = 10 * 60_000;

/** Reads the environment, and deletes the init key from it, so that no child of the agent inherits it. */
export function loadConfig(env: Record<string, string | undefined>): AgentConfig {
  const initKey = env.BOXYARD_INIT_KEY || undefined;
  delete env.BOXYARD_INIT_KEY;
  return {
    hostname: env.BOXYARD_AGENT_HOST ?? "0.0.0.0",
    port: portOf(env.BOXYARD_AGENT_PORT),
    initKey,
    launchPath: env.BOXYARD_AGENT_LAUNCH ?? "/.boxyard/launch",
    cgroupRoot: env.BOXYARD_AGENT_CGROUP ?? "/sys/fs/cgroup",
    cgroupV1Root: env.BOXYARD_AGENT_CGROUP_V1 ?? "/.boxyard/cgroup",
    hostDir: env.BOXYARD_AGENT_HOST_DIR ?? "/.boxyard/host",
    etcDir: env.BOXYARD_AGENT_ETC ?? "/etc",
    runDir: env.BOXYARD_AGENT_RUN ?? "/run/e2b",
    caBundlePath: env.BOXYARD_AGENT_CA ?? "/etc/ssl/certs/ca-certificates.crt",
    javaStorePath: env.BOXYARD_AGENT_JAVA_STORE ?? "/etc/ssl/certs/java/cacerts",
    freezeWatchdogMs: Number(env.BOXYARD_AGENT_FREEZE_WATCHDOG_MS ?? FREEZE_WATCHDOG_MS),
  };
}

function portOf(text: string | undefined): number {
  const port = Number(text ?? AGENT_PORT);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new RangeError(`BOXYARD_AGENT_PORT must be a port, not '${text}'`);
  return port;
}
