/**
 * A field of mountinfo (proc(5)) without the kernel's escapes: it writes blank, tab, line end and backslash of a path as `\` and three octal digits.
 */
export const plainField = (field: string): string =>
  field.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
