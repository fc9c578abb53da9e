export { serveStreams } from "./stdio.ts";
