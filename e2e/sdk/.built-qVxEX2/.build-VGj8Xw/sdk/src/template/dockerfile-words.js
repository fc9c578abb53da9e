/** Text of a Dockerfile that has no meaning. */
export class WordError extends Error {
}
/** Never set: with it, a `$` that is meant as such survives the server, which puts variables in once. */
const DOLLAR = "$" + "{BOXYARD_NOTHING:-$}";
/** Cuts a text where words end, outside of quotes; the words keep their quotes. */
export function splitWords(text, escapeChar) {
    const words = [];
    let start = -1;
    let quote = "";
    for (let i = 0; i < text.length; i++) {
        const char = text.charAt(i);
        if (quote === "" && /\s/.test(char)) {
            if (start >= 0)
                words.push(text.slice(start, i));
            start = -1;
            continue;
        }
        if (start < 0)
            start = i;
        if (char === escapeChar && quote !== "'")
            i++;
        else if (quote !== "")
            quote = char === quote ? "" : quote;
        else if (char === '"' || char === "'")
            quote = char;
    }
    if (start >= 0)
        words.push(text.slice(start));
    return words;
}
/** Reads one word: quotes and escapes go, `$NAME` and `${NAME…}` become what they stand for. */
export class WordReader {
    variables;
    escapeChar;
    constructor(variables, escapeChar) {
        this.variables = variables;
        this.escapeChar = escapeChar;
    }
    /** The text with the variables that this file knows; others are left to the server, which knows the image's. */
    forServer(word) {
        return render(this.read(word));
    }
    /** The text, if this file alone says what it is. Throws `WordError` that names the variable it would need. */
    here(word) {
        return plain(this.read(word), (reference) => {
            throw new WordError(`${reference} is not set in this file; what names files and images cannot come from the image's own variables`);
        });
    }
    /** The value, if this file alone says what it is. */
    known(word) {
        const pieces = this.read(word);
        return pieces.every((piece) => "text" in piece) ? plain(pieces, () => "") : undefined;
    }
    /** Of a text that is no word, such as a here-document: quotes are characters like others. */
    inText(text) {
        return plain(new Scan(text, this.variables, this.escapeChar).pieces(true), () => "");
    }
    read(word) {
        return new Scan(word, this.variables, this.escapeChar).pieces(false);
    }
}
/** A text that the server is to take as it stands. */
export const literal = (text) => render([{ text }]);
function plain(pieces, unknown) {
    return pieces.map((piece) => ("text" in piece ? piece.text : unknown(piece.reference))).join("");
}
function render(pieces) {
    const shown = pieces.map((piece, i) => {
        if ("reference" in piece)
            return piece.reference;
        const isLast = i === pieces.length - 1;
        return piece.text.replace(isLast ? /\$(?=[A-Za-z_{])/g : /\$(?=[A-Za-z_{]|$)/g, () => DOLLAR);
    });
    return shown.join("");
}
const NAME = /^[A-Za-z_][A-Za-z0-9_]*/;
/** One pass over a word (docs.docker.com/reference/dockerfile, "Environment replacement"). */
class Scan {
    source;
    variables;
    escapeChar;
    at = 0;
    found = [];
    literal = "";
    constructor(source, variables, escapeChar) {
        this.source = source;
        this.variables = variables;
        this.escapeChar = escapeChar;
    }
    pieces(quotesAreText) {
        while (this.at < this.source.length) {
            const char = this.source.charAt(this.at);
            if (char === "$")
                this.dollar();
            else if (char === this.escapeChar)
                this.escaped(quotesAreText);
            else if (!quotesAreText && char === "'")
                this.singleQuoted();
            else if (!quotesAreText && char === '"')
                this.doubleQuoted();
            else
                this.take(char);
        }
        this.flush();
        return this.found;
    }
    take(char) {
        this.literal += char;
        this.at++;
    }
    escaped(onlyDollar) {
        const next = this.source.charAt(this.at + 1);
        const counts = next !== "" && (!onlyDollar || next === "$" || next === this.escapeChar);
        if (counts)
            this.at++;
        this.take(this.source.charAt(this.at));
    }
    singleQuoted() {
        const end = this.source.indexOf("'", this.at + 1);
        if (end < 0)
            throw new WordError("a ' is not closed");
        this.literal += this.source.slice(this.at + 1, end);
        this.at = end + 1;
    }
    doubleQuoted() {
        this.at++;
        for (;;) {
            const char = this.source.charAt(this.at);
            if (char === "")
                throw new WordError('a " is not closed');
            if (char === '"')
                break;
            if (char === "$")
                this.dollar();
            else if (char === this.escapeChar) {
                if (['"', "$", this.escapeChar].includes(this.source.charAt(this.at + 1)))
                    this.at++;
                this.take(this.source.charAt(this.at));
            }
            else
                this.take(char);
        }
        this.at++;
    }
    dollar() {
        this.at++;
        if (this.source.charAt(this.at) === "{")
            this.braced();
        else
            this.unbraced();
    }
    unbraced() {
        const [name = ""] = NAME.exec(this.source.slice(this.at, this.at + MAX_NAME)) ?? [];
        if (name === "") {
            this.literal += "$";
            return;
        }
        this.at += name.length;
        this.value(name);
    }
    value(name) {
        const value = this.variables.known.get(name);
        if (value === undefined)
            this.refer(this.variables.deferred.get(name) ?? `$\{${name}}`);
        else
            this.literal += value;
    }
    braced() {
        const end = closing(this.source, this.at);
        const inside = this.source.slice(this.at + 1, end);
        const [name = ""] = NAME.exec(inside) ?? [];
        if (end < 0 || name === "")
            throw new WordError(`'$${this.source.slice(this.at, this.at + 40)}' is not a reference to a variable`);
        this.at = end + 1;
        const modifier = inside.slice(name.length);
        const value = this.variables.known.get(name);
        const word = /^:?[-+?]/.exec(modifier)?.[0] ?? "";
        if (modifier !== "" && this.variables.deferred.has(name))
            throw new WordError(`the value of ${name} depends on the image, so only $${name} as a whole works`);
        if (modifier === "")
            this.value(name);
        else if (word !== "")
            this.withWord(name, value, word, modifier.slice(word.length));
        else
            this.trimmed(name, value, modifier);
    }
    /** `-`, `+` and `?`, with a colon where an empty value counts as none. */
    withWord(name, value, operator, word) {
        const isSet = operator.startsWith(":") ? Boolean(value) : value !== undefined;
        const inner = () => new Scan(word, this.variables, this.escapeChar).pieces(false);
        const kind = operator.at(-1);
        if (value === undefined && kind !== "?") {
            const text = plain(inner(), () => "{");
            if (/[{}]/.test(text))
                throw new WordError(`what stands for ${name} if it is not set must be known in this file`);
            this.refer(`$\{${name}:${kind}${text}}`);
        }
        else if (kind === "?") {
            if (value === undefined)
                throw new WordError(`${name}: ${plain(inner(), () => "") || "is not set in this file"}`);
            if (!isSet)
                throw new WordError(`${name}: ${plain(inner(), () => "") || "is empty"}`);
            this.literal += value;
        }
        else if (kind === "-" && isSet)
            this.literal += value;
        else if ((kind === "-") !== isSet)
            this.append(inner());
    }
    /** `#`, `##`, `%`, `%%` take a pattern away, `/` and `//` replace it. */
    trimmed(name, value, modifier) {
        const [, operator = "", pattern = "", by = ""] = /^(##?|%%?)([\s\S]*)$/.exec(modifier) ?? /^(\/\/?)([^/]*)\/?([\s\S]*)$/.exec(modifier) ?? [];
        if (operator === "")
            throw new WordError(`'$\{${name}${modifier.slice(0, 40)}}' is not a reference to a variable`);
        if (value === undefined)
            throw new WordError(`${name} is not set in this file, so nothing can be taken from it`);
        if (value.length > MAX_TRIMMED)
            throw new WordError(`the value of ${name} is too long to take anything from it`);
        const text = plain(new Scan(by, this.variables, this.escapeChar).pieces(false), () => "");
        this.literal += operator.startsWith("/") ? replaced(value, pattern, text, operator === "//") : cut(value, pattern, operator);
    }
    append(pieces) {
        for (const piece of pieces) {
            if ("text" in piece)
                this.literal += piece.text;
            else
                this.refer(piece.reference);
        }
    }
    refer(reference) {
        this.flush();
        this.found.push({ reference });
    }
    flush() {
        if (this.literal !== "")
            this.found.push({ text: this.literal });
        this.literal = "";
    }
}
const MAX_NAME = 1000;
/** Patterns with many stars take long on long values. */
const MAX_TRIMMED = 256;
/** Where the brace that opens at `from` is closed, others inside counted; -1 if nowhere. */
function closing(text, from) {
    let depth = 0;
    for (let i = from; i < text.length; i++) {
        if (text.charAt(i) === "{")
            depth++;
        else if (text.charAt(i) === "}" && --depth === 0)
            return i;
    }
    return -1;
}
/** Whether a pattern, in which `*` and `?` match anything, matches a whole text. */
function matches(pattern, text) {
    let [at, place, star, from] = [0, 0, -1, 0];
    while (place < text.length) {
        if (pattern.charAt(at) === "*")
            [star, from] = [at++, place];
        else if (at < pattern.length && (pattern.charAt(at) === "?" || pattern.charAt(at) === text.charAt(place)))
            [at, place] = [at + 1, place + 1];
        // What the last star stands for is longer than it seemed.
        else if (star >= 0)
            [at, place] = [star + 1, ++from];
        else
            return false;
    }
    return /^\**$/.test(pattern.slice(at));
}
const upTo = (count) => Array.from({ length: count + 1 }, (_, i) => i);
/** `#` and `##` take the shortest and longest beginning away that a pattern matches, `%` and `%%` the end. */
function cut(value, pattern, operator) {
    const isLongest = operator.length === 2;
    const places = upTo(value.length);
    if (operator.startsWith("#")) {
        const end = (isLongest ? places.reverse() : places).find((at) => matches(pattern, value.slice(0, at)));
        return value.slice(end ?? 0);
    }
    const start = (isLongest ? places : places.reverse()).find((at) => matches(pattern, value.slice(at)));
    return value.slice(0, start ?? value.length);
}
/** Puts a text in the place of what a pattern matches, as much as it can, the first time or always. */
function replaced(value, pattern, by, isAlways) {
    let done = "";
    for (let at = 0; at < value.length;) {
        const length = upTo(value.length - at)
            .reverse()
            .find((count) => count > 0 && matches(pattern, value.slice(at, at + count)));
        if (length !== undefined && !isAlways)
            return done + by + value.slice(at + length);
        done += length === undefined ? value.charAt(at) : by;
        at += length ?? 1;
    }
    return done;
}
