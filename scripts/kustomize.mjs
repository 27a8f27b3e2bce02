// Renders folders of manifests with kustomize, that of kubectl or the program itself.
import { execFileSync, spawnSync } from 'node:child_process';
import { parseAllDocuments } from 'yaml';

/** Oldest kustomize that knows components, labels and the generators' forms used here. kubectl has it since 1.24. */
const OLDEST_KUSTOMIZE = 4;

const CANDIDATES = [
  {
    asks: ['kubectl', 'version', '--client', '--output=json'],
    says: /"kustomizeVersion": *"v(\d+)/,
    builds: ['kubectl', 'kustomize'],
  },
  { asks: ['kustomize', 'version'], says: /v(\d+)\./, builds: ['kustomize', 'build'] },
];

/**
 * `kubectl kustomize` or kustomize itself, whichever is there and young enough.
 *
 * @type {string[] | undefined}
 */
export const kustomize = CANDIDATES.find(({ asks: [program = '', ...args], says }) => {
  const major = says.exec(spawnSync(program, args, { encoding: 'utf8' }).stdout ?? '')?.[1];
  return Number(major ?? 0) >= OLDEST_KUSTOMIZE;
})?.builds;

/**
 * @param {string} folder with a kustomization.yaml
 * @returns {any[]} its objects
 */
export function render(folder) {
  const [program = '', ...args] = kustomize ?? [];
  return objectsOf(execFileSync(program, [...args, folder], { encoding: 'utf8' })).map((object) =>
    object.kind === 'Secret' ? unfolded(object) : object,
  );
}

/**
 * @param {string} text documents of YAML
 * @returns {any[]} those that are not empty
 */
export function objectsOf(text) {
  return parseAllDocuments(text).flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw error;
    return document.toJS() ?? [];
  });
}

/**
 * Kustomize folds long base64 into lines. Kubernetes ignores the line breaks, the schema's pattern does not.
 *
 * @param {any} secret
 */
function unfolded(secret) {
  const data = Object.entries(secret.data ?? {}).map(([key, value]) => [key, value.replaceAll('\n', '')]);
  return { ...secret, data: Object.fromEntries(data) };
}
