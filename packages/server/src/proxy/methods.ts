/** Methods that the platform's own routes know, and those of RFC 9110 section 9.3 that none of them has. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

export interface MethodProblem {
  readonly status: 400 | 501;
  readonly message: string;
}

/**
 * What is wrong with the method of a request that the API or an agent answers; undefined when nothing is. Methods are case-sensitive (RFC 9110
 * section 9.1). The check is made on the bytes of the request: Bun's `Request` and `Bun.serve` turn an unknown method into GET. A service of the user's
 * own, on another port of a sandbox, may have any method.
 */
export function methodProblem(method: string): MethodProblem | undefined {
  if (METHODS.has(method)) return undefined;
  const known = method.toUpperCase();
  if (METHODS.has(known)) return { status: 400, message: `Methods are case-sensitive: send ${known}` };
  return { status: 501, message: `This method is not implemented here; there are ${[...METHODS].join(", ")}` };
}
