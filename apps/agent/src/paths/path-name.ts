import path from 'node:path';
import { fileNameProblem, isUnsafePath } from '@waybill/model';

declare const CHECKED: unique symbol;

/** A name that was checked: as a segment of a path it leads one level down and nowhere else. */
export type PathName = string & { readonly [CHECKED]: 'PathName' };

/** A name from outside would lead a path elsewhere than where it belongs. Nothing was made for it. */
export class UnsafeNameError extends Error {
  override readonly name = 'UnsafeNameError';
  constructor(what: string, given: string, problem: string) {
    super(`${what} ${JSON.stringify(given)} ${problem}`);
  }
}

/** @param what it names, as the error begins @throws UnsafeNameError */
export function pathName(given: string, what = 'the name'): PathName {
  const problem = fileNameProblem(given);
  if (problem !== undefined) throw new UnsafeNameError(what, given, problem);
  return given as PathName;
}

/** What a directory was found to hold: a task may have named it as it likes, but it is one segment. @throws UnsafeNameError */
export function entryName(found: string): PathName {
  if (found === '' || found === '.' || found === '..' || /[/\0]/.test(found))
    throw new UnsafeNameError('the entry', found, 'is no name of a file');
  return found as PathName;
}

/**
 * One segment for an ID in which slashes are legal: what has none, and no `%`, stays as it is. Different IDs have different
 * segments, and none lies inside the directory of another. @throws UnsafeNameError
 */
export function escapedName(given: string, what: string): PathName {
  if (isUnsafePath(given)) throw new UnsafeNameError(what, given, 'cannot be part of a path on this machine');
  return pathName(given.replaceAll('%', '%25').replaceAll('/', '%2F'), what);
}

/** What is written in the program itself, and what was checked; a text that only came along is `never`. */
type Known<N extends string> = N extends PathName ? N : Record<never, never> extends Record<N, 1> ? never : N;

/**
 * The one place of the agent where a path is made of a directory and names (the check `paths of the agent` refuses others).
 * What is given is a constant of the program or a PathName: anything else does not compile.
 */
export function below<A extends string, B extends string = never, C extends string = never>(
  directory: string,
  name: A & Known<A>,
  second?: B & Known<B>,
  third?: C & Known<C>,
): string {
  return path.join(directory, name, ...(second === undefined ? [] : [second]), ...(third === undefined ? [] : [third]));
}

/**
 * Several segments that came from outside, below a directory, looked at as text: for what exists, links have to be asked
 * too (inside-allocation.store.ts, open-directory.store.ts). A leading slash is that directory.
 * @throws UnsafeNameError when they lead out of it
 */
export function belowAsText(directory: string, relative: string): string {
  const found = path.join(directory, path.normalize(relative));
  if (relative.includes('\0') || !isWithin(directory, found))
    throw new UnsafeNameError('the path', relative, `leads out of ${directory}`);
  return found;
}

/** Whether a path is a directory, or below it, as text. */
export const isWithin = (directory: string, found: string): boolean =>
  found === directory || found.startsWith(directory.endsWith(path.sep) ? directory : directory + path.sep);

/** A place as a task, or the machine, sees it, with all that is relative taken out; never relative itself. */
export const asAbsolute = (place: string): string => path.resolve('/', place);

/** Where the agent was told to have its files: what the machine's own administrator says is not checked. */
export const ownDirectory = (configured: string): string => path.resolve(configured);
