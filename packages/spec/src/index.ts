/** Version of the wire that the agent speaks; public clients unlock features by it (docs/contract/agent.md, Version). */
export const ENVD_VERSION = "0.6.13";
/** Port of the agent inside every sandbox (docs/contract/agent.md). */
export const AGENT_PORT = 49983;
export * from "./wire.ts";
