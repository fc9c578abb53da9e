import { readInitKey } from "./access/init-key.ts";
import { loadConfig } from "./config.ts";
import { buildAgent } from "./context.ts";
import { serve } from "./server.ts";

const config = loadConfig(process.env);
const agent = buildAgent(config, config.initKey ?? readInitKey());

// Its end is the sandbox's end, so nothing that a client sends may end it.
process.on("uncaughtException", (error) => agent.ctx.log("uncaught", error));
process.on("unhandledRejection", (error) => agent.ctx.log("unhandled", error));

serve(agent.ctx, agent.routes, config);
