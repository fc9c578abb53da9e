/** Gives `use` a sandbox of its own and kills it afterwards, also when `use` fails. */
export async function withSandbox({ Sandbox }, use, options = {}) {
  const sandbox = await Sandbox.create({ timeoutMs: 120_000, ...options });
  try {
    return await use(sandbox);
  } finally {
    await sandbox.kill();
  }
}

/** Looks every 20 ms until `look` returns something truthy; throws after `withinMs`. */
export async function eventually(what, look, withinMs = 10_000) {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    if (Date.now() > deadline) throw new Error(`Not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
