/** An agent under test. Tests use only HTTP requests to `baseUrl`, so they run against agents in real sandboxes too. */
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
