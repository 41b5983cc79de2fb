const undo = [];

/** Has something undone when {@link cleanUp} runs or the script is interrupted; what came last goes first. */
export function onEnd(work) {
  undo.push(work);
}

export async function cleanUp() {
  while (undo.length > 0) {
    try {
      await undo.pop()();
    } catch (error) {
      console.error(`While cleaning up: ${error.message}`);
    }
  }
}

for (const [signal, code] of Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 })) {
  process.once(signal, () => {
    console.error('Interrupted.');
    void cleanUp().then(() => process.exit(code));
  });
}
