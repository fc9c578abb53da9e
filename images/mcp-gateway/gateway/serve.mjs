// The gateway's own process. `main.mjs` starts it, gives it the configuration, and waits until it serves.
import { serversOf } from "./catalog.mjs";
import { serve } from "./http.mjs";
import { Servers } from "./servers.mjs";

let isServing = false;
process.on("unhandledRejection", (error) => console.error(error));
// The command that waits has been ended.
process.once("disconnect", () => {
  if (!isServing) process.exit(1);
});
process.once("message", async ({ config, token }) => {
  try {
    const servers = new Servers(serversOf(config));
    await servers.open();
    await serve(servers, token);
    isServing = true;
    process.send({}, () => process.disconnect());
  } catch (error) {
    const isTaken = error.code === "EADDRINUSE";
    process.send({ failure: isTaken ? "a gateway runs in this sandbox already" : error.message }, () => process.exit(1));
  }
});
