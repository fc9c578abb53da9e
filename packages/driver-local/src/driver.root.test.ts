import { localDriverContract } from "./testing/contract.ts";

localDriverContract({ runtime: "crun", suites: ["runtime", "network", "snapshots", "checkpoint"] });
