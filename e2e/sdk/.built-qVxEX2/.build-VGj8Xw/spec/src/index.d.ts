/** Version of the wire that the agent speaks; public clients unlock features by it (contract/wire.md, section 9). */
export declare const ENVD_VERSION = "0.6.13";
/** Port of the agent inside every sandbox (interface document, section 8). */
export declare const AGENT_PORT = 49983;
