export { DocumentCheck, type JsonSchema, type Operation } from "./document-check.ts";
