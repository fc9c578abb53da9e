import { Database, type SQLQueryBindings, type Statement } from "bun:sqlite";
import type { SQL } from "bun";
import type { Row } from "./sql-values.ts";

type Value = SQLQueryBindings;
type Columns = Readonly<{ [name: string]: Value | undefined }>;

/** Compiled statements that are kept. The store has fewer texts, but a list of values makes another text for each length. */
const KEPT_STATEMENTS = 256;

/** What `sql(values)` gives: values that become a part of a statement, by what stands before it. */
class Part {
  readonly values: Columns | readonly Columns[] | readonly Value[];

  constructor(values: Part["values"]) {
    this.values = values;
  }
}

/**
 * A SQLite database with Bun's tagged templates for SQL. Bun's own compiles every statement anew and keeps an order of queries of its own, which takes
 * several times as long as the work of a statement that has been compiled before.
 */
export class Sqlite {
  /** Runs each statement at once. */
  readonly sql: SQL;
  private readonly file: string;
  private opened: Database | undefined;
  /** By their texts; the one that was used last comes last. */
  private readonly statements = new Map<string, Statement<Row, Value[]>>();

  constructor(file: string) {
    this.file = file;
    this.sql = this.through((statement) => statement());
  }

  /** Sets how the file is written. */
  async configure(isExclusive: boolean): Promise<void> {
    // Before WAL: then SQLite keeps the WAL's index in its own memory. A mapped index file that another program truncates kills the process (SIGBUS).
    if (isExclusive) this.once("PRAGMA locking_mode = EXCLUSIVE");
    for (const how of ["journal_mode = WAL", "synchronous = NORMAL", "busy_timeout = 5000"]) this.once(`PRAGMA ${how}`);
  }

  /** A `sql` that passes each statement to `run`, which calls it when its time has come. */
  through(run: (statement: () => Promise<unknown>) => Promise<unknown>): SQL {
    const tag = (first: TemplateStringsArray | Part["values"], ...values: unknown[]) => {
      if (!isTemplate(first)) return new Part(first);
      return run(async () => {
        const bound: Value[] = [];
        const text = textOf(first, values, bound);
        return this.compiled(text).all(...bound);
      });
    };
    const members = {
      unsafe: (text: string) => run(async () => this.once(text)),
      begin: (how: string, work: (sql: SQL) => Promise<unknown>) => this.begin(how, work),
      close: async () => this.close(),
    };
    return Object.assign(tag, members) as unknown as SQL;
  }

  /** Opened by the first statement, which fails where that does. */
  private get database(): Database {
    this.opened ??= new Database(this.file, { create: true, readwrite: true });
    return this.opened;
  }

  private compiled(text: string): Statement<Row, Value[]> {
    const known = this.statements.get(text);
    const statement = known ?? this.database.prepare<Row, Value[]>(text);
    if (known) this.statements.delete(text);
    this.statements.set(text, statement);
    const [oldest] = this.statements;
    if (this.statements.size > KEPT_STATEMENTS && oldest) {
      this.statements.delete(oldest[0]);
      oldest[1].finalize();
    }
    return statement;
  }

  /** For texts that come once, and those that frame transactions. */
  private once(text: string): Row[] {
    if (FRAMES.has(text)) return this.compiled(text).all();
    using statement = this.database.prepare<Row, Value[]>(text);
    return statement.all();
  }

  private async begin(how: string, work: (sql: SQL) => Promise<unknown>): Promise<unknown> {
    this.once(`BEGIN ${how}`);
    try {
      const result = await work(this.sql);
      this.once("COMMIT");
      return result;
    } catch (error) {
      if (this.database.inTransaction) this.once("ROLLBACK");
      throw error;
    }
  }

  private close(): void {
    // A statement that is left keeps the file open, and its lock.
    for (const statement of this.statements.values()) statement.finalize();
    this.statements.clear();
    this.opened?.close();
  }
}

const FRAMES: ReadonlySet<string> = new Set(["BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"]);

const isTemplate = (value: object): value is TemplateStringsArray => Array.isArray(value) && "raw" in value;

/** The text with marks for values, which are added to `bound`. */
function textOf(strings: TemplateStringsArray, values: readonly unknown[], bound: Value[]): string {
  let text = strings[0] ?? "";
  for (const [at, value] of values.entries()) {
    if (value instanceof Part) text += partOf(value, text, bound);
    else {
      text += "?";
      bound.push((value ?? null) as Value);
    }
    text += strings[at + 1] ?? "";
  }
  return text;
}

function partOf({ values }: Part, before: string, bound: Value[]): string {
  const list: readonly (Columns | Value)[] = Array.isArray(values) ? values : [values as Columns];
  const isOfRows = list.length > 0 && list.every(isRow);
  if (!isOfRows) return `(${list.map((value) => mark(value as Value, bound)).join(", ")})`;
  const rows = list as readonly Columns[];
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row).filter((name) => row[name] !== undefined)))];
  if (columns.length === 0) throw new SyntaxError("no column has a value");
  if (/\bSET\s*$/i.test(before)) return columns.map((name) => `${quoted(name)} = ${mark(rows[0]?.[name], bound)}`).join(", ");
  const lines = rows.map((row) => `(${columns.map((name) => mark(row[name], bound)).join(", ")})`);
  return `(${columns.map(quoted).join(", ")}) VALUES ${lines.join(", ")}`;
}

const isRow = (value: Columns | Value): value is Columns => typeof value === "object" && value !== null && !ArrayBuffer.isView(value);
const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

function mark(value: Value | undefined, bound: Value[]): string {
  bound.push(value ?? null);
  return "?";
}
