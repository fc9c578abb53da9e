import { Template } from "@boxyard/sdk/template";
import type { Platform } from "@boxyard/testkit";

/** A name of this bench's own, whose template is gone at the end. */
export async function withTemplate<T>(platform: Platform, use: (name: string) => Promise<T>): Promise<T> {
  const { apiUrl, apiKey } = platform;
  const name = `bench-${crypto.randomUUID().slice(0, 8)}`;
  try {
    return await use(name);
  } finally {
    await Template.delete(name, { apiUrl, apiKey });
  }
}

/** What the server itself says of the builds of a template, newest first: milliseconds from start to end. */
export async function serverMs(platform: Platform, name: string): Promise<number[]> {
  const { body } = await platform.api({ path: `/templates/${name}` });
  const { builds } = body as { builds: { createdAt: string; finishedAt?: string }[] };
  return builds.flatMap(({ createdAt, finishedAt }) => (finishedAt === undefined ? [] : [Date.parse(finishedAt) - Date.parse(createdAt)]));
}
