/** Settings of the agent's conformance suite. */
export interface AgentSuiteConfig {
  /** An agent that runs already, in a real sandbox for example; undefined: the suite starts one itself, as root. */
  readonly baseUrl: string | undefined;
  readonly token: string | undefined;
  readonly initKey: string | undefined;
  /** A compiled agent to start instead of the sources. */
  readonly executable: string | undefined;
  /** PATH for the programs that make its surroundings. */
  readonly path: string;
}

export function readAgentSuiteConfig(env = process.env): AgentSuiteConfig {
  return {
    baseUrl: env.BOXYARD_TEST_AGENT_URL,
    token: env.BOXYARD_TEST_AGENT_TOKEN,
    initKey: env.BOXYARD_TEST_AGENT_INIT_KEY,
    executable: env.BOXYARD_TEST_AGENT_EXECUTABLE,
    path: env.PATH ?? "/usr/sbin:/usr/bin:/sbin:/bin",
  };
}
