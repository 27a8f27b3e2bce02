// Paths of the agent are made in one place, apps/agent/src/paths: there a name from outside is checked, elsewhere it is only
// used. The type of `below` refuses names that were not checked; this keeps anybody from going around it.

const OF_THE_AGENT = /^apps\/agent\/src\//;
/** The one place itself, and what no allocation of a real machine goes through. */
const EXEMPT = [/^apps\/agent\/src\/paths\//, /^apps\/agent\/src\/(fixtures|nodesim)\//, /\.spec\.ts$/];

/** @type {readonly (readonly [pattern: RegExp, message: string])[]} */
const REFUSED = [
  [
    /(?<![.\w])path\.(?:posix\.|win32\.)?(?:join|resolve)\(/,
    'joins a path: use below() or belowAsText() of paths/path-name.ts',
  ],
  [
    /import\s*(?:type\s*)?\{[^}]*\b(?:join|resolve)\b[^}]*\}\s*from\s*'(?:node:)?path(?:\/posix)?'/,
    'imports a function that joins paths: use below() or belowAsText() of paths/path-name.ts',
  ],
  [/\+\s*(?:'\/'|path\.sep)\s*\+/, 'joins a path by hand: use below() or belowAsText() of paths/path-name.ts'],
  [/\bthrowIfNoEntry\b/, 'throws for a path that may not be searched: use statOrNone() of paths/stat-or-none.store.ts'],
  [/\bas PathName\b/, 'takes a name for checked: use pathName(), entryName() or taskName()'],
];

/**
 * What a source file of the agent does with paths that only apps/agent/src/paths may.
 *
 * @param {string} file from the root, with forward slashes
 * @param {string} text
 * @returns {string[]} one text per finding
 */
export function pathViolations(file, text) {
  if (!OF_THE_AGENT.test(file) || EXEMPT.some((one) => one.test(file))) return [];
  return REFUSED.filter(([pattern]) => pattern.test(text)).map(([, message]) => `${file}: ${message}`);
}
