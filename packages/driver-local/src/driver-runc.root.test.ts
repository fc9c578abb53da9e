import { localDriverContract } from "./testing/contract.ts";

localDriverContract({ runtime: "runc", lingerMs: 60_000, suites: ["runtime", "network", "snapshots", "checkpoint"] });
