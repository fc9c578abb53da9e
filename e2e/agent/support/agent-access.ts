/** An agent and what a test may know of it. Tests speak HTTP to `baseUrl` and look at nothing else, so they run over real sandboxes too. */
export interface AgentUnderTest {
  readonly baseUrl: string;
  /** Undefined: the agent asks for none. */
  readonly token: string | undefined;
  /** Undefined: the driver keeps it. */
  readonly initKey: string | undefined;
  stop(): Promise<void>;
}

/** Headers of an authorised request. */
export function authorised(agent: AgentUnderTest): Record<string, string> {
  return agent.token === undefined ? {} : { "X-Access-Token": agent.token };
}
