import { readFile } from 'node:fs/promises';
import { text as textOf } from 'node:stream/consumers';

/** The text of a file, or with `-` of stdin. Rejects as the system does. */
export const givenText = (source: string): Promise<string> =>
  source === '-' ? textOf(process.stdin) : readFile(source, 'utf8');

/** A secret from a file or stdin, without the white space around it (AU-304). Rejects also when nothing is left. */
export async function givenSecret(source: string): Promise<string> {
  const secret = (await givenText(source)).trim();
  if (secret === '') throw new Error(`${source === '-' ? 'stdin' : source} is empty`);
  return secret;
}
