import { createHash, createHmac } from "node:crypto";
import { AppError } from "@boxyard/core";
import { z } from "zod";
import type { Login, RegistryCredentials } from "./login.ts";
import type { Transport } from "./transport.ts";

type AwsCredentials = Extract<RegistryCredentials, { type: "aws" }>;

const TARGET = "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken";
const CONTENT_TYPE = "application/x-amz-json-1.1";
/** The host of a private registry is `<account>.dkr.ecr.<region>.<suffix>`, the host of its API `api.ecr.<region>.<suffix>`. */
const PRIVATE_HOST = /^\d{12}\.dkr\.ecr(-fips)?\.([a-z0-9-]+)\.(.+)$/;
const MAX_ANSWER_BYTES = 64 * 1024;

const Answer = z.object({ authorizationData: z.array(z.object({ authorizationToken: z.string() })).min(1) });

const hex = (data: string) => createHash("sha256").update(data).digest("hex");
const mac = (key: string | Buffer, data: string) => createHmac("sha256", key).update(data).digest();

/** The headers of a signed POST of `body` to `/` (AWS Signature Version 4). `at`: milliseconds since 1970. */
function signedHeaders(credentials: AwsCredentials, host: string, body: string, at: number): Record<string, string> {
  const time = new Date(at).toISOString().replace(/[-:]|\.\d{3}/g, "");
  const headers = { "content-type": CONTENT_TYPE, host, "x-amz-date": time, "x-amz-target": TARGET };
  const names = Object.keys(headers).join(";");
  const canonical = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
  const request = ["POST", "/", "", canonical.join(""), names, hex(body)].join("\n");
  const scope = [time.slice(0, 8), credentials.awsRegion, "ecr", "aws4_request"];
  const toSign = ["AWS4-HMAC-SHA256", time, scope.join("/"), hex(request)].join("\n");
  const key = scope.reduce<string | Buffer>((secret, part) => mac(secret, part), `AWS4${credentials.awsSecretAccessKey}`);
  const signature = mac(key, toSign).toString("hex");
  const authorization = `AWS4-HMAC-SHA256 Credential=${credentials.awsAccessKeyId}/${scope.join("/")}, SignedHeaders=${names}, Signature=${signature}`;
  return { ...headers, authorization };
}

/** The address of a registry's API. A registry without TLS, which the operator has listed, is its own API: tests use that. */
function apiUrl(registry: string, transport: Transport): URL {
  const base = transport.baseUrl(registry);
  if (base.protocol === "http:") return base;
  const [, fips = "", region, suffix] = PRIVATE_HOST.exec(registry) ?? [];
  if (suffix === undefined) {
    throw new AppError(
      "invalid_argument",
      `fromImageRegistry: '${registry}' is not a private registry of AWS; use type 'registry' for others`,
      {
        reason: "invalid_registry_credentials",
      },
    );
  }
  return new URL(`https://api.ecr${fips}.${region}.${suffix}/`);
}

function readAnswer(text: string): z.infer<typeof Answer> | undefined {
  try {
    return Answer.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Gets a password for a registry of AWS with an access key. Throws `permission_denied` (`registry_denied`), `unavailable`, `invalid_argument`. */
export async function ecrLogin(credentials: AwsCredentials, registry: string, transport: Transport, signal: AbortSignal): Promise<Login> {
  const url = apiUrl(registry, transport);
  const body = "{}";
  const { host, ...headers } = signedHeaders(credentials, url.host, body, transport.clock.now());
  const response = await transport.fetch(url, {
    method: "POST",
    headers: { ...headers, host: host ?? url.host },
    body,
    signal,
    from: registry,
  });
  const text = await transport.text(response, MAX_ANSWER_BYTES);
  if (!response.ok) {
    throw new AppError("permission_denied", `AWS gives no password for ${registry} (status ${response.status}): check the access key`, {
      reason: "registry_denied",
    });
  }
  const token = Buffer.from(readAnswer(text)?.authorizationData[0]?.authorizationToken ?? "", "base64").toString();
  const colon = token.indexOf(":");
  if (colon < 1) throw new AppError("unavailable", `AWS answered for ${registry} with no token`, { reason: "registry_answer" });
  return { username: token.slice(0, colon), password: token.slice(colon + 1) };
}
