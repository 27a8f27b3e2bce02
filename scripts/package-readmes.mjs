// READMEs of packages: the types and files that they send a reader to must exist.

const BACKTICKED = /`([^`]+)`/g;

/** @param {string} readme @param {string} label @returns {string[]} what a line of the list names in backticks */
const namesIn = (readme, label) => {
  const line = readme.split('\n').find((one) => one.startsWith(`- **${label}:**`)) ?? '';
  return [...line.matchAll(BACKTICKED)].map(([, name]) => String(name));
};

/**
 * Names in a package's README that lead nowhere.
 *
 * @param {string} folder of the package, from the root
 * @param {{ readme: string, sources: readonly string[], exists: (file: string) => boolean }} tree
 * @returns {string[]}
 */
export function readmeFindings(folder, { readme, sources, exists }) {
  const types = namesIn(readme, 'Main types').map((name) => name.replace('()', ''));
  const files = namesIn(readme, 'Begin with');
  /** @param {string} name */
  const isDefined = (name) => {
    const definition = new RegExp(
      `^export (?:abstract |async )?(?:class|interface|type|const|function) ${name}\\b`,
      'm',
    );
    return sources.some((source) => definition.test(source));
  };
  return [
    ...(types.length === 0 ? [`${folder}/README.md: no "Main types"`] : []),
    ...(files.length === 0 ? [`${folder}/README.md: no "Begin with"`] : []),
    ...types.filter((name) => !isDefined(name)).map((name) => `${folder}/README.md: nothing exports ${name}`),
    ...files.filter((file) => !exists(`${folder}/${file}`)).map((file) => `${folder}/README.md: no file ${file}`),
  ];
}
