import { localDriverContract } from "./testing/contract.ts";

localDriverContract("runc");
