import { createInterface } from 'node:readline/promises';

/** Asks on the terminal. Rejects if the input ends without an answer, such as at Ctrl-C, or `signal` is aborted. */
export async function askOnTerminal(question: string, signal: AbortSignal): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.once('close', () => reject(new Error('EOF')));
      lines.question(question, { signal }).then(resolve, reject);
    });
  } finally {
    lines.close();
  }
}
