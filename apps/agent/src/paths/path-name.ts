import path from 'node:path';
import { fileNameProblem, isUnsafePath } from '@waybill/model';

declare const CHECKED: unique symbol;

/** PathName is a checked name: as a segment of a path it leads one level down and nowhere else. */
export type PathName = string & { readonly [CHECKED]: 'PathName' };

/** UnsafeNameError says that a name from outside would lead a path out of its place. Nothing was made for it. */
export class UnsafeNameError extends Error {
  override readonly name = 'UnsafeNameError';
  constructor(what: string, given: string, problem: string) {
    super(`${what} ${JSON.stringify(given)} ${problem}`);
  }
}

/** Checks a name. @param what the object, as the error message begins @throws UnsafeNameError */
export function pathName(given: string, what = 'the name'): PathName {
  const problem = fileNameProblem(given);
  if (problem !== undefined) throw new UnsafeNameError(what, given, problem);
  return given as PathName;
}

/** Checks an entry of a directory. A task may have chosen any name, but it is one segment. @throws UnsafeNameError */
export function entryName(found: string): PathName {
  if (found === '' || found === '.' || found === '..' || /[/\0]/.test(found))
    throw new UnsafeNameError('the entry', found, 'is no name of a file');
  return found as PathName;
}

/**
 * Returns one segment for an ID that may contain slashes. An ID without slashes and `%` stays as it is. Different IDs
 * have different segments, and no directory is inside of another.
 * @throws UnsafeNameError
 */
export function escapedName(given: string, what: string): PathName {
  if (isUnsafePath(given)) throw new UnsafeNameError(what, given, 'cannot be part of a path on this machine');
  return pathName(given.replaceAll('%', '%25').replaceAll('/', '%2F'), what);
}

/** Known accepts constants of the program and checked names; for any other text it is `never`. */
type Known<N extends string> = N extends PathName ? N : Record<never, never> extends Record<N, 1> ? never : N;

/**
 * Joins a directory and names. It is the only place of the agent that does so (the check `paths of the agent` refuses
 * others). Each name is a constant of the program or a PathName: anything else does not compile.
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
 * Joins a directory and several segments from outside, checked as text. For existing paths, links have to be checked,
 * too (inside-allocation.store.ts, open-directory.store.ts). A leading slash stands for the directory.
 * @throws UnsafeNameError if they lead out of it
 */
export function belowAsText(directory: string, relative: string): string {
  const found = path.join(directory, path.normalize(relative));
  if (relative.includes('\0') || !isWithin(directory, found))
    throw new UnsafeNameError('the path', relative, `leads out of ${directory}`);
  return found;
}

/** Says whether a path is a directory or below it, as text. */
export const isWithin = (directory: string, found: string): boolean =>
  found === directory || found.startsWith(directory.endsWith(path.sep) ? directory : directory + path.sep);

/** Returns an absolute path without relative segments. */
export const asAbsolute = (place: string): string => path.resolve('/', place);

/** Returns the agent's own directory. The machine's administrator chose it, so it is not checked. */
export const ownDirectory = (configured: string): string => path.resolve(configured);
