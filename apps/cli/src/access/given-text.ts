import { readFile } from 'node:fs/promises';
import { text as textOf } from 'node:stream/consumers';

/** Reads a file, or stdin if the source is `-`. Rejects with the system's error. */
export const givenText = (source: string): Promise<string> =>
  source === '-' ? textOf(process.stdin) : readFile(source, 'utf8');

/** Reads a secret from a file or stdin and trims white space around it (AU-304). Rejects if the secret is empty. */
export async function givenSecret(source: string): Promise<string> {
  const secret = (await givenText(source)).trim();
  if (secret === '') throw new Error(`${source === '-' ? 'stdin' : source} is empty`);
  return secret;
}
