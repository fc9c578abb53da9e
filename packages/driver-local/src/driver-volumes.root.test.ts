import { localDriverContract } from "./testing/contract.ts";

localDriverContract({ suites: ["volumes", "volumeMounts"] });
