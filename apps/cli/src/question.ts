import { createInterface } from 'node:readline/promises';

/** Asks on the terminal; rejects when the input ends without an answer. */
export async function ask(question: string, interrupt: AbortSignal): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.once('close', () => reject(new Error('EOF')));
      lines.question(question, { signal: interrupt }).then(resolve, reject);
    });
  } finally {
    lines.close();
  }
}
