import { readInitKey } from "./access/init-key.ts";
import { loadConfig } from "./config.ts";
import { buildAgent } from "./context.ts";
import { eventLoopWait, REST, Rest } from "./rest.ts";
import { serve } from "./server.ts";
import { tellListening } from "./tell-listening.ts";

const config = loadConfig(process.env);
const agent = buildAgent(config, config.initKey ?? readInitKey());

// The sandbox ends with the agent, so no request may end the agent.
process.on("uncaughtException", (error) => agent.ctx.log("uncaught", error));
process.on("unhandledRejection", (error) => agent.ctx.log("unhandled", error));

const rest = new Rest({ isBusy: () => server.pendingRequests > 0, wait: eventLoopWait, ...REST });
const server = serve(agent.ctx, agent.routes, config, () => rest.touched());
tellListening(config.hostDir);
rest.touched();
