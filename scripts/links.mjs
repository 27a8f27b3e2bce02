// Links between the Markdown pages of the repository: files and headings that they point to must exist.
import path from 'node:path';

/** A link or an image with a target; targets with a scheme are other people's pages. */
const LINK = /\]\(([^()\s]+)\)/g;

/**
 * The anchor that GitHub gives a heading.
 *
 * @param {string} heading
 */
export const anchorOf = (heading) =>
  heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');

/** @param {string} text a page without its fenced blocks and inline code, which hold no links */
const prose = (text) => text.replaceAll(/^ *(`{3,}|~{3,}).*?^ *\1/gms, '').replaceAll(/`[^`\n]*`/g, '');

/** @param {string} text @returns {string[]} */
const headingsOf = (text) =>
  [...text.replaceAll(/^ *(`{3,}|~{3,}).*?^ *\1/gms, '').matchAll(/^#{1,6} +(.*)$/gm)].map(([, heading]) =>
    String(heading),
  );

/**
 * Headings that a page has twice: a link can only reach the first, and most often a merge left both versions of a
 * section.
 *
 * @param {string} file path of the page from the root
 * @param {string} text
 * @returns {string[]}
 */
export function repeatedHeadings(file, text) {
  const headings = headingsOf(text);
  const repeated = headings.filter((heading, at) => headings.indexOf(heading) !== at);
  return [...new Set(repeated)].map((heading) => `${file}: the heading "${heading}" stands more than once`);
}

/** @param {string} text @returns {Set<string>} */
function anchorsOf(text) {
  const explicit = [...text.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, id]) => String(id));
  return new Set([...headingsOf(text).map(anchorOf), ...explicit]);
}

/**
 * Links that lead nowhere.
 *
 * @param {string} file path of the page from the root
 * @param {string} text
 * @param {{ exists: (file: string) => boolean, textOf: (file: string) => string }} tree
 * @returns {string[]}
 */
export function deadLinks(file, text, { exists, textOf }) {
  return [...prose(text).matchAll(LINK)].flatMap(([, target]) => {
    const link = String(target);
    if (/^[a-z][a-z+.-]*:/i.test(link)) return [];
    const [to = '', anchor] = link.split('#');
    const page = to === '' ? file : path.posix.join(path.posix.dirname(file), decodeURIComponent(to));
    if (!exists(page)) return [`${file}: ${link} leads to no file`];
    if (!anchor || !page.endsWith('.md')) return [];
    return anchorsOf(textOf(page)).has(anchor) ? [] : [`${file}: ${link} leads to no heading`];
  });
}
