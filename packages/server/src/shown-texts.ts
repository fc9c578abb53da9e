/** Variables that may hold passwords: the address of a collector may have one, too. */
const SECRET: ReadonlySet<string> = new Set(["DATABASE_URL", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS"]);

/** The texts of variables by their names; of a secret, only that it is set. */
export const shownTexts = (given: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(given).flatMap(([name, text]) => (text === undefined ? [] : [[name, SECRET.has(name) ? "(set)" : text]])),
  );
