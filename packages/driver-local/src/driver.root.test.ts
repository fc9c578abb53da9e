import { localDriverContract } from "./testing/contract.ts";

localDriverContract("crun");
