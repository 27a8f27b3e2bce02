import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder into which `npm run build` puts the pages. */
const BUILT = fileURLToPath(new URL('../../../../dist/ui/', import.meta.url));

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The codings, the best first. Building the pages makes each of them. */
const CODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

export interface PageFile {
  readonly type: string;
  readonly plain: Buffer;
  /** The compressed forms by the name of the coding, the best first. */
  readonly coded: readonly (readonly [coding: string, bytes: Buffer])[];
}

/**
 * PageFiles has the built pages. It reads them once, at the first request for one of them: some hundred kilobytes. It
 * looks up the path of a request among the files that it found, so the path never becomes a path of the file system.
 */
export class PageFiles {
  private files: ReadonlyMap<string, PageFile> | undefined;

  constructor(private readonly folder = BUILT) {}

  /** @param name the path below the folder, with forward slashes */
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
