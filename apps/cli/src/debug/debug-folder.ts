import { createHash } from 'node:crypto';
import { appendFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { makeDirectory } from '@waybill/processes';
import { type ExactJson, formatExact } from '../terminal/exact-json.js';

/** One file of the capture, and what is missing in it. */
export interface CapturedFile {
  /** From the folder, with forward slashes. */
  readonly path: string;
  /** Why it is not, or not wholly, what its name says. */
  readonly missing?: string;
}

/** Of a name in the cluster: how much of it is kept in that of a file. */
const MAX_NAME = 100;

/**
 * A name of the cluster as one of a file or folder: whatever it holds, it stays one, and two of them stay two (CL-808).
 */
export function fileName(name: string): string {
  const safe = name
    .replaceAll(/[^\w.-]/g, '_')
    .replace(/^\.+/, '_')
    .slice(0, MAX_NAME);
  return safe === name && safe !== '' ? safe : `${safe}-${createHash('sha256').update(name).digest('hex').slice(0, 8)}`;
}

/** The folder a capture is written to. Remembers what it was given, for the index. Holds no content. */
export class DebugFolder {
  private readonly captured = new Map<string, CapturedFile>();

  constructor(readonly root: string) {}

  /** Sorted by their paths. */
  get files(): readonly CapturedFile[] {
    return [...this.captured.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
  }

  async json(place: readonly string[], value: ExactJson): Promise<void> {
    await writeFile(await this.fileAt(place), `${formatExact(value, 2)}\n`);
  }

  async append(place: readonly string[], data: string | Uint8Array): Promise<void> {
    await appendFile(await this.fileAt(place), data);
  }

  /** What could not be had is said where it would have been (CL-808). */
  async missing(place: readonly string[], why: string): Promise<void> {
    await this.append(place, `${JSON.stringify({ Error: why })}\n`);
    const file = placed(place);
    this.captured.set(file, { path: file, missing: why });
  }

  /** The contents, for programs and for people. */
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
