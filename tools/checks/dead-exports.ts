/** What an export can be that is looked at; types are left out, because they describe what other exports take and give. */
const EXPORT = /^export (?:async )?(?:const|function\*?|class|enum) (\w+)/gm;
const WORD = /[A-Za-z_$][\w$]*/g;
/** The client's exports are for its users. */
const LOOKED_AT = /^packages\/(?!sdk\/)[^/]+\/src\/.*\.tsx?$/;

export interface DeadExport {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

interface Source {
  readonly path: string;
  readonly text: string;
}

/** Exports whose name stands in no other file. A name that another file uses for something else hides a dead export; no used export is reported. */
export function deadExports(sources: readonly Source[]): DeadExport[] {
  const filesOf = new Map<string, number>();
  for (const { text } of sources) for (const word of new Set(text.match(WORD))) filesOf.set(word, (filesOf.get(word) ?? 0) + 1);
  return sources
    .filter(({ path }) => LOOKED_AT.test(path) && !/\.test\.tsx?$/.test(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(EXPORT)].flatMap(({ index, 1: name = "" }) => {
        if (filesOf.get(name) !== 1) return [];
        const line = text.slice(0, index).split("\n").length;
        return [{ path, line, message: `${name} is exported, and no other file names it` }];
      }),
    );
}
