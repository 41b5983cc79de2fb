// Runs one benchmark in a process of its own: `node --expose-gc child.mjs <name>`.
process.once('message', async ({ file, context }) => {
  try {
    const { run } = await import(file);
    const result = await run(context);
    process.send({ result }, () => process.exit(0));
  } catch (error) {
    process.send({ error: error.stack }, () => process.exit(1));
  }
});

// Whoever started it is gone.
process.once('disconnect', () => process.exit());
