import { localDriverContract } from "./testing/contract.ts";

localDriverContract({ runtime: "crun", suites: ["processes", "records", "network", "snapshots", "checkpoint"] });
