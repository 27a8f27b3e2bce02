import { readFile, rm } from 'node:fs/promises';
import { isErrno } from '@waybill/processes';
import { writeDurably } from '../durable-files/durable-file.store.js';
import { below } from '../paths/path-name.js';
import type { MachineIntroduction } from './introduction.js';

/** The variables that may contain the token. One that is set but empty means that there is none (AU-206). */
export const INTRODUCTION_VARIABLES = ['NOMAD_CLIENT_INTRO_TOKEN', 'WAYBILL_CLIENT_INTRO_TOKEN'] as const;

/** IntroductionFileError says that the place of the token is a directory. */
export class IntroductionFileError extends Error {
  override readonly name = 'IntroductionFileError';
  constructor() {
    super('intro token file is a directory');
  }
}

/**
 * IntroductionFiles keeps two files of the agent's directory: `intro_token.jwt`, which a person puts there, and
 * `registered`, which says that the machine has registered. The environment goes before the files, and the file
 * of WAYBILL_CLIENT_INTRO_TOKEN_FILE before that of the directory.
 */
export class IntroductionFiles implements MachineIntroduction {
  private readonly tokenFile: string;
  private readonly mark: string;

  constructor(
    dir: string,
    private readonly env: Readonly<Record<string, string | undefined>>,
    /** A further file, which others keep up to date; empty: none. */
    private readonly givenFile = '',
  ) {
    this.tokenFile = below(dir, 'intro_token.jwt');
    this.mark = below(dir, 'registered');
  }

  /** @throws IntroductionFileError; what the file system fails with */
  async token(): Promise<string | undefined> {
    if ((await contentOf(this.mark)) !== undefined) return undefined;
    for (const name of INTRODUCTION_VARIABLES) {
      const given = this.env[name];
      if (given !== undefined) return given.trim() || undefined;
    }
    const given = this.givenFile === '' ? undefined : await contentOf(this.givenFile);
    return given?.trim() || (await contentOf(this.tokenFile))?.trim() || undefined;
  }

  async registered(): Promise<void> {
    if ((await contentOf(this.mark)) === undefined) await writeDurably(this.mark, '');
    await rm(this.tokenFile, { force: true });
  }

  refused(): Promise<void> {
    return rm(this.mark, { force: true });
  }
}

/** Returns undefined if there is no such file. */
async function contentOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    if (isErrno(error, 'EISDIR')) throw new IntroductionFileError();
    throw error;
  }
}
