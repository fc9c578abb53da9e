import { localDriverContract } from "../testing/contract.ts";

localDriverContract({ suites: ["layers", "images"] });
