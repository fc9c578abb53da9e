import { readInitKey } from "./access/init-key.ts";
import { loadConfig } from "./config.ts";
import { buildAgent } from "./context.ts";
import { serve } from "./server.ts";
import { tellListening } from "./tell-listening.ts";

const config = loadConfig(process.env);
const agent = buildAgent(config, config.initKey ?? readInitKey());

// The sandbox ends with the agent, so no request may end the agent.
process.on("uncaughtException", (error) => agent.ctx.log("uncaught", error));
process.on("unhandledRejection", (error) => agent.ctx.log("unhandled", error));

serve(agent.ctx, agent.routes, config);
tellListening(config.hostDir);
