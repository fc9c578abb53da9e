export { agentDocument } from "./document.ts";
export { agentRoutes } from "./routes.ts";
