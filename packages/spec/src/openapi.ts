import type { RouteConfig } from "@hono/zod-openapi";

/*
 * What OpenAPI documents say about schemas and operations. The schemas are plain zod, with which the server parses; what makes
 * documents of them is loaded only when a client asks for one, because it would take a fifth of the CPU time of the server's start.
 */

/**
 * Metadata of a schema that the document names. zod-to-openapi finds the name here, where its own `openapi()` puts it. More metadata of such a schema
 * goes before `optional()`: behind it, the document repeats the schema.
 */
export const named = (refId: string) => ({ _internal: { refId } });

/** The description of an operation, with the exact types of its parts. */
export const operation = <P extends string, R extends Omit<RouteConfig, "path"> & { path: P }>(description: R): R => description;
