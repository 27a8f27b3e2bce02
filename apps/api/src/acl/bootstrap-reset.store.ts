import { readFile } from 'node:fs/promises';
import path from 'node:path';

/** The file by which an operator proves access to the server (OP-145). */
export const RESET_FILE = 'acl-bootstrap-reset';

/** Reads the number that an operator has written into the reset file. */
export class BootstrapReset {
  /** @param directory the directory of the service */
  constructor(private readonly directory: string) {}

  /** Returns the number; 0 if there is no such file or no number in it. */
  async index(): Promise<number> {
    try {
      const text = (await readFile(path.join(this.directory, RESET_FILE), 'utf8')).trim();
      return /^\d{1,15}$/.test(text) ? Number(text) : 0;
    } catch {
      return 0; // the usual case: nobody asks for a reset
    }
  }
}
