import { constants } from 'node:fs';
import { access, readdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { isErrno } from '@waybill/processes';
import { below, entryName } from '../paths/path-name.js';

/** PluginFile is an executable file of the plugin directory. */
export interface PluginFile {
  /** The file's name, less `.exe`. */
  readonly name: string;
  readonly file: string;
  /** Why the file must not be started; absent if it may. */
  readonly refusal?: string;
}

const OTHERS_MAY_WRITE = 0o022;

/**
 * Returns all executable regular files of a directory, following links, without sub-directories (PG-22). A file that
 * another user owns or may write to is refused, and so are all files of such a directory: whoever can replace a plugin
 * runs as the agent's user.
 * @returns undefined if there is no directory
 */
export async function findPluginFiles(dir: string): Promise<PluginFile[] | undefined> {
  let names: string[];
  try {
    names = await readdir(dir);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
  const ofDirectory = await refusalOf(dir);
  const found: PluginFile[] = [];
  for (const entry of names.toSorted()) {
    const file = below(dir, entryName(entry));
    const isFile = (await stat(file).catch(() => undefined))?.isFile() ?? false;
    if (!isFile || !(await isExecutable(file))) continue;
    const refusal = ofDirectory ?? (await refusalOf(file)) ?? (await refusalOf(await realpath(file), true));
    found.push({ name: entry.replace(/\.exe$/, ''), file, ...(refusal !== undefined && { refusal }) });
  }
  return found;
}

const isExecutable = (file: string): Promise<boolean> =>
  access(file, constants.X_OK).then(
    () => true,
    () => false,
  );

/** Says why a file or a directory cannot be trusted. @param withDirectory whether to look at its directory, too */
async function refusalOf(file: string, withDirectory = false): Promise<string | undefined> {
  const { uid, mode } = await stat(file);
  const own = process.getuid?.() ?? uid;
  if (uid !== own && uid !== 0) return `${file} belongs to another user (uid ${uid})`;
  if ((mode & OTHERS_MAY_WRITE) !== 0) return `others may write to ${file}: take that away with chmod go-w`;
  return withDirectory ? refusalOf(path.dirname(file)) : undefined;
}
