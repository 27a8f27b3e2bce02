/** What is granted in a namespace, as far as reads of the simulation need it. */
export type Right = 'list-jobs' | 'read-job' | 'list-volumes' | 'read-volumes' | 'read-host-volumes';

const READ: readonly Right[] = ['list-jobs', 'read-job', 'list-volumes', 'read-volumes', 'read-host-volumes'];

/** A rule for variables: of which namespaces and paths, as texts that may end in a star, and what it grants. */
export interface VariableMeaning {
  readonly namespace: string;
  readonly path: string;
  readonly grants: readonly ('list' | 'read')[];
}

/** A policy that users of the simulation write, and what it means: both written by hand, side by side. */
export interface PolicyMeaning {
  readonly text: string;
  /** By label, which may end in a star. `deny` takes away what other policies grant to the same label. */
  readonly namespaces?: Readonly<Record<string, readonly Right[] | 'deny'>>;
  readonly variables?: readonly VariableMeaning[];
  readonly readsNodes?: true;
}

/** The namespaces of a run. The jobs of the usual workload are in the first. */
export const NAMESPACES = ['default', 'team', 'secret'] as const;

const variablesOf = (namespace: string, paths: Readonly<Record<string, readonly string[]>>): string => {
  const rules = Object.entries(paths).map(
    ([path, capabilities]) => `path ${JSON.stringify(path)} { capabilities = ${JSON.stringify(capabilities)} }`,
  );
  return `namespace ${JSON.stringify(namespace)} {\nvariables {\n${rules.join('\n')}\n}\n}`;
};

export const POLICY_MEANINGS: readonly PolicyMeaning[] = [
  { text: 'namespace "default" { policy = "read" }', namespaces: { default: READ } },
  { text: 'namespace "team" { policy = "read" }', namespaces: { team: READ } },
  { text: 'namespace "secret" { policy = "write" }', namespaces: { secret: READ } },
  { text: 'namespace "*" { policy = "read" }', namespaces: { '*': READ } },
  { text: 'namespace "te*" { policy = "write" }', namespaces: { 'te*': READ } },
  { text: 'namespace "secret" { policy = "deny" }', namespaces: { secret: 'deny' } },
  {
    text: 'namespace "*" { policy = "read" }\nnamespace "secret" { policy = "deny" }\nnode { policy = "read" }',
    namespaces: { '*': READ, secret: 'deny' },
    readsNodes: true,
  },
  { text: 'namespace "team" { capabilities = ["list-jobs"] }', namespaces: { team: ['list-jobs', 'list-volumes'] } },
  {
    text: 'namespace "default" { capabilities = ["csi-read-volume", "host-volume-read"] }',
    namespaces: { default: ['list-volumes', 'read-volumes', 'read-host-volumes'] },
  },
  { text: 'node { policy = "read" }', readsNodes: true },
  {
    text: `namespace "default" { policy = "read" }\n${variablesOf('default', { 'app/*': ['read'] })}`,
    namespaces: { default: READ },
    variables: [{ namespace: 'default', path: 'app/*', grants: ['list', 'read'] }],
  },
  {
    text: variablesOf('default', { 'app/*': ['list'], 'app/leader': ['deny'] }),
    namespaces: { default: [] },
    variables: [
      { namespace: 'default', path: 'app/*', grants: ['list'] },
      { namespace: 'default', path: 'app/leader', grants: [] },
    ],
  },
  {
    text: variablesOf('*', { '*': ['list', 'read'] }),
    namespaces: { '*': [] },
    variables: [{ namespace: '*', path: '*', grants: ['list', 'read'] }],
  },
  {
    text: variablesOf('team', { 'keys/one': ['read'] }),
    namespaces: { team: [] },
    variables: [{ namespace: 'team', path: 'keys/one', grants: ['list', 'read'] }],
  },
  { text: 'agent { policy = "read" }' },
];

const BY_TEXT = new Map(POLICY_MEANINGS.map((meaning) => [meaning.text, meaning]));

/** @throws Error for a policy that no user of the simulation has written */
export function meaningOf(text: string): PolicyMeaning {
  const meaning = BY_TEXT.get(text);
  if (!meaning) throw new Error(`nobody has written the policy ${text}`);
  return meaning;
}
