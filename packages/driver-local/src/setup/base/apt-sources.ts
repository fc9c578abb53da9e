/** Package archives of the machine's own release, from apt's own files; third parties' archives are left out. */
export interface AptSource {
  readonly uris: readonly string[];
  readonly suites: readonly string[];
  readonly components: readonly string[];
  /** Path of the keyring, when the file names one. */
  readonly signedBy?: string;
}

/** Components of Debian and Ubuntu; third parties use other names. */
const COMPONENTS = new Set(["main", "contrib", "non-free", "non-free-firmware", "universe", "multiverse", "restricted"]);
const ARCHIVE_KEYRING = /\/(debian|ubuntu)-archive-keyring(-[a-z-]+)?\.(gpg|pgp|asc)$/;

const words = (text: string | undefined): string[] => (text ?? "").split(/\s+/).filter((word) => word !== "");

/** Entries of a `.list` file: `deb [signed-by=…] URI SUITE COMPONENT…`. */
export function parseOneLine(text: string): AptSource[] {
  return text.split("\n").flatMap((line) => {
    const match = /^\s*deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s*([^#]*)/.exec(line);
    if (!match?.[2] || !match[3]) return [];
    const signedBy = /(?:^|\s)signed-by=(\S+)/.exec(match[1] ?? "")?.[1];
    return [{ uris: [match[2]], suites: [match[3]], components: words(match[4]), ...(signedBy && { signedBy }) }];
  });
}

/** Entries of a `.sources` file (deb822). */
export function parseDeb822(text: string): AptSource[] {
  const withoutComments = text.split("\n").filter((line) => !line.startsWith("#"));
  return withoutComments
    .join("\n")
    .split(/\n\s*\n/)
    .flatMap((stanza) => {
      const fields = deb822Fields(stanza);
      const isBinary = words(fields.get("types")).includes("deb");
      if (!isBinary || /^(no|false|0)$/i.test(fields.get("enabled") ?? "")) return [];
      const signedBy = fields.get("signed-by");
      const entry = { uris: words(fields.get("uris")), suites: words(fields.get("suites")), components: words(fields.get("components")) };
      // A key may also be in the file itself; then the archive is a third party's.
      return [{ ...entry, ...(signedBy && { signedBy: signedBy.split("\n")[0] as string }) }];
    });
}

function deb822Fields(stanza: string): Map<string, string> {
  const fields = new Map<string, string>();
  let name = "";
  for (const line of stanza.split("\n")) {
    const match = /^([A-Za-z][A-Za-z0-9-]*):(.*)/.exec(line);
    if (match?.[1] !== undefined) {
      name = match[1].toLowerCase();
      fields.set(name, (match[2] ?? "").trim());
    } else if (name && /^\s/.test(line)) fields.set(name, `${fields.get(name)}\n${line.trim()}`.trim());
  }
  return fields;
}

/** The sources that belong to the release `codename` itself: its suite, updates and security, signed with the archive's own key. */
export function ofRelease(sources: readonly AptSource[], codename: string): AptSource[] {
  const suites = new Set([codename, `${codename}-updates`, `${codename}-security`, `${codename}/updates`]);
  return sources.flatMap((source) => {
    const own = source.suites.filter((suite) => suites.has(suite));
    const foreign = source.components.some((component) => !COMPONENTS.has(component));
    const foreignKey = source.signedBy !== undefined && !ARCHIVE_KEYRING.test(source.signedBy);
    if (own.length === 0 || foreign || foreignKey || !source.components.includes("main")) return [];
    return [{ ...source, suites: own }];
  });
}

/** The text of a file in deb822, apt's newer format. */
export function formatDeb822(sources: readonly AptSource[]): string {
  return sources
    .map(({ uris, suites, components, signedBy }) =>
      [
        "Types: deb",
        `URIs: ${uris.join(" ")}`,
        `Suites: ${suites.join(" ")}`,
        `Components: ${components.join(" ")}`,
        ...(signedBy ? [`Signed-By: ${signedBy}`] : []),
        "",
      ].join("\n"),
    )
    .join("\n");
}
