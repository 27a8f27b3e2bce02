import { createHash } from 'node:crypto';
import { appendFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { makeDirectory } from '@waybill/processes';
import { type ExactJson, formatExact } from '../terminal/exact-json.js';

/** One file of the capture, and whether its content is incomplete. */
export interface CapturedFile {
  /** Path below the folder, with forward slashes. */
  readonly path: string;
  /** Why the file is incomplete. */
  readonly missing?: string;
}

/** Most characters of an object's name in a file name. */
const MAX_NAME = 100;

/**
 * Converts a name from the cluster to a file name. The result is always a single path segment, and different names stay
 * different (CL-808).
 */
export function fileName(name: string): string {
  const safe = name
    .replaceAll(/[^\w.-]/g, '_')
    .replace(/^\.+/, '_')
    .slice(0, MAX_NAME);
  return safe === name && safe !== '' ? safe : `${safe}-${createHash('sha256').update(name).digest('hex').slice(0, 8)}`;
}

/** The folder that a capture is written to. It keeps a list of its files for the index, and no content. */
export class DebugFolder {
  private readonly captured = new Map<string, CapturedFile>();

  constructor(readonly root: string) {}

  /** The files, sorted by path. */
  get files(): readonly CapturedFile[] {
    return [...this.captured.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
  }

  async json(place: readonly string[], value: ExactJson): Promise<void> {
    await writeFile(await this.fileAt(place), `${formatExact(value, 2)}\n`);
  }

  async append(place: readonly string[], data: string | Uint8Array): Promise<void> {
    await appendFile(await this.fileAt(place), data);
  }

  /** Writes the reason in place of a file that could not be captured (CL-808). */
  async missing(place: readonly string[], why: string): Promise<void> {
    await this.append(place, `${JSON.stringify({ Error: why })}\n`);
    const file = placed(place);
    this.captured.set(file, { path: file, missing: why });
  }

  /** Writes the indexes, for programs and for people. */
  async close(about: Readonly<Record<string, ExactJson>>): Promise<void> {
    const { files } = this;
    const listed = files.map(({ path: file, missing }) => ({ Path: file, ...(missing && { Missing: missing }) }));
    await writeFile(path.join(this.root, 'index.json'), `${formatExact({ ...about, Files: listed }, 2)}\n`);
    await writeFile(path.join(this.root, 'index.html'), page(files));
  }

  private async fileAt(place: readonly string[]): Promise<string> {
    const file = placed(place);
    if (!this.captured.has(file)) this.captured.set(file, { path: file });
    const full = path.join(this.root, file);
    await makeDirectory(path.dirname(full));
    return full;
  }
}

const placed = (place: readonly string[]): string => place.map(fileName).join('/');

function page(files: readonly CapturedFile[]): string {
  const rows = files.map(
    ({ path: file, missing }) =>
      `<li><a href="${escaped(file)}">${escaped(file)}</a>${missing === undefined ? '' : ` (${escaped(missing)})`}</li>`,
  );
  return `<!doctype html>\n<meta charset="utf-8">\n<title>Debug capture</title>\n<h1>Debug capture</h1>\n<ul>\n${rows.join('\n')}\n</ul>\n`;
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
