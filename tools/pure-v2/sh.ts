/** Runs a command to its end and returns its standard output. If the command fails, throws an error with the end of its output. */
export async function sh(
  argv: readonly string[],
  options: { cwd?: string; env?: Readonly<Record<string, string | undefined>> } = {},
): Promise<string> {
  const child = Bun.spawn([...argv], { stdin: "ignore", stdout: "pipe", stderr: "pipe", ...options });
  const [output, errors, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (exitCode !== 0) throw new Error(`${argv.join(" ")}: exit code ${exitCode}\n${`${output}\n${errors}`.trim().slice(-2000)}`);
  return output;
}
