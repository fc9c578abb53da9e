import { localDriverContract } from "./testing/contract.ts";

localDriverContract("runc", 60_000);
