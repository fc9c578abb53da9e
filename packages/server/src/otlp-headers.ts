/** Headers of `OTEL_EXPORTER_OTLP_HEADERS`: `name=value,name=value`, values percent-encoded where need be. What has no name is left out. */
export function otlpHeaders(text: string): Record<string, string> {
  const pairs = text.split(",").map((pair) => {
    const at = pair.indexOf("=");
    return [pair.slice(0, Math.max(0, at)).trim(), decoded(pair.slice(at + 1).trim())] as const;
  });
  return Object.fromEntries(pairs.filter(([name]) => name !== ""));
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
