/** Settings of the agent's conformance suite. */
export interface AgentSuiteConfig {
  /** True: tests that ask for nothing special get an agent in a sandbox of the default template, made through the server. */
  readonly inSandbox: boolean;
  /** PATH for the programs that make the surroundings of an agent alone. */
  readonly path: string;
}

export function readAgentSuiteConfig(env = process.env): AgentSuiteConfig {
  return { inSandbox: env.BOXYARD_TEST_AGENT === "sandbox", path: env.PATH ?? "/usr/sbin:/usr/bin:/sbin:/bin" };
}
