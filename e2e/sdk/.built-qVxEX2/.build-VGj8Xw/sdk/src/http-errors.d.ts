import { BoxyardError } from "./errors.ts";
/**
 * The error for a response that is not a success.
 *
 * @param what - What was tried, as the start of the sentence ("create sandbox").
 * @param notFoundReason - The `reason` of a 404 that carries none itself.
 */
export declare function errorFromResponse(response: Response, what: string, notFoundReason?: string): Promise<BoxyardError>;
