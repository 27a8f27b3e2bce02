import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where `npm run build` puts the pages. */
const BUILT = fileURLToPath(new URL('../../../../dist/ui/', import.meta.url));

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Best first; each is made when the pages are built. */
const CODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

export interface PageFile {
  readonly type: string;
  readonly plain: Buffer;
  /** Its compressed forms by the name of the coding, best first. */
  readonly coded: readonly (readonly [coding: string, bytes: Buffer])[];
}

/**
 * The built pages, read once, when the first of them is asked for: some hundred kilobytes. A path of a request is looked up
 * among the files that were found and never becomes a path of the file system.
 */
export class PageFiles {
  private files: ReadonlyMap<string, PageFile> | undefined;

  constructor(private readonly folder = BUILT) {}

  /** @param name below the folder, with forward slashes */
  get(name: string): PageFile | undefined {
    this.files ??= readBelow(this.folder);
    return this.files.get(name);
  }
}

function readBelow(folder: string): ReadonlyMap<string, PageFile> {
  if (!existsSync(path.join(folder, 'index.html'))) return new Map();
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return new Map(
    files.flatMap((file) => {
      const type = TYPES[path.extname(file)];
      if (type === undefined) return [];
      const coded = CODINGS.filter(([, ending]) => files.includes(file + ending)).map(
        ([coding, ending]) => [coding, readFileSync(path.join(folder, file + ending))] as const,
      );
      return [[file.replaceAll(path.sep, '/'), { type, plain: readFileSync(path.join(folder, file)), coded }] as const];
    }),
  );
}
