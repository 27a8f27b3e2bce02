import { expect, it } from 'vitest';
import { Acl } from './acl.js';
import type { NamespaceCapability, OrDeny, VariableCapability } from './capabilities.js';

/** Printed with every failure. */
const seed = Number(process.env['WAYBILL_ACL_SEED'] ?? Date.now() % 1_000_000);
const ROUNDS = 150;
/** On a machine that does other things as well. */
const TIMEOUT_MS = 60_000;
const NAMES_PER_ROUND = 12;

/** Mulberry32: the same numbers for the same seed. */
function dice(start: number): (below: number) => number {
  let state = start;
  return (below) => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const roll = dice(seed);
const pick = <T>(from: readonly [T, ...T[]]): T => from[roll(from.length)] ?? from[0];
const text = (letters: readonly [string, ...string[]], atMost: number): string =>
  Array.from({ length: 1 + roll(atMost) }, () => pick(letters)).join('');
const some = <T>(atMost: number, make: () => T): T[] => Array.from({ length: roll(atMost + 1) }, make);

interface Rule<C extends string> {
  readonly label: string;
  readonly capabilities: readonly OrDeny<C>[];
}

/** Matches by trying every split: slow, and nothing that could be got wrong. */
function naiveMatch(glob: string, name: string): boolean {
  if (glob === '') return name === '';
  if (glob[0] !== '*') return name[0] === glob[0] && naiveMatch(glob.slice(1), name.slice(1));
  return Array.from({ length: name.length + 1 }, (_, at) => at).some((at) => naiveMatch(glob.slice(1), name.slice(at)));
}

/** The sentences of OP-123, OP-124 and OP-131 to OP-133 one after the other. */
function naiveGrant<C extends string>(rules: readonly Rule<C>[], name: string): C[] {
  const ofLabel = (label: string): C[] => {
    const all = rules.filter((rule) => rule.label === label).flatMap(({ capabilities }) => capabilities);
    return all.includes('deny') ? [] : all.filter((one): one is C => one !== 'deny');
  };
  if (rules.some(({ label }) => label === name)) return ofLabel(name);
  const distance = (glob: string): number => name.length - glob.length + glob.replaceAll(/[^*]/g, '').length;
  let best: string | undefined;
  for (const { label } of rules) {
    if (!label.includes('*') || !naiveMatch(label, name)) continue;
    const isCloser =
      best === undefined || distance(label) < distance(best) || (distance(label) === distance(best) && label > best);
    if (isCloser) best = label;
  }
  return best === undefined ? [] : ofLabel(best);
}

const SHOWN: readonly [NamespaceCapability, ...NamespaceCapability[]] = ['read-job', 'list-jobs', 'submit-job'];
const VARIABLE: readonly [VariableCapability, ...VariableCapability[]] = ['list', 'write', 'destroy'];

it(
  `OP-123, OP-124, OP-131 to OP-134: namespaces as a naive implementation has them (WAYBILL_ACL_SEED=${seed})`,
  () => {
    const wrong: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const policies = some(4, () =>
        some(5, (): Rule<NamespaceCapability> => {
          const capabilities = some(3, () => (roll(8) === 0 ? 'deny' : pick(SHOWN)));
          return { label: text(['a', 'b', '-', '*', '*'], 5), capabilities };
        }),
      ).filter((rules) => rules.length > 0);
      const compiled = Acl.compile(
        policies.map((rules, n) => ({
          name: `p${n}`,
          modifyIndex: 1,
          rules: rules
            .map((rule) => `namespace "${rule.label}" { capabilities = ${JSON.stringify(rule.capabilities)} }`)
            .join('\n'),
        })),
      );
      for (let n = 0; n < NAMES_PER_ROUND; n++) {
        const name = text(['a', 'b', '-'], 6);
        const expected = naiveGrant(policies.flat(), name);
        const found = SHOWN.filter((one) => compiled.allowsNamespace(name, one));
        const isRight =
          found.join() === SHOWN.filter((one) => expected.includes(one)).join() &&
          compiled.hasAccessToNamespace(name) === expected.length > 0 &&
          // A name that is allowed in some namespace is allowed in any namespace (OP-140).
          found.every((one) => compiled.allowsAnyNamespace(one));
        if (!isRight) wrong.push(`${JSON.stringify(policies)} allows ${name} ${found.join()}, not ${expected.join()}`);
      }
    }
    expect(wrong).toEqual([]);
  },
  TIMEOUT_MS,
);

it(
  `OP-126, OP-135: variables as a naive implementation has them (WAYBILL_ACL_SEED=${seed})`,
  () => {
    const wrong: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const rules = Array.from({ length: 1 + roll(6) }, () => ({
        namespace: text(['a', 'b', '*'], 3),
        path: text(['a', 'b', '/', '*'], 4).replace(/^\//, 'x'),
        capabilities: some(3, (): OrDeny<VariableCapability> => (roll(8) === 0 ? 'deny' : pick(VARIABLE))),
      }));
      const compiled = Acl.compile(
        rules.map(({ namespace, path, capabilities }, n) => ({
          name: `p${n}`,
          modifyIndex: 1,
          rules: `namespace "${namespace}" { variables { path "${path}" { capabilities = ${JSON.stringify(capabilities)} } } }`,
        })),
      );
      const joined = rules.map((rule) => ({
        label: `${rule.namespace}\0${rule.path}`,
        capabilities: rule.capabilities,
      }));
      for (let n = 0; n < NAMES_PER_ROUND; n++) {
        const [namespace, path] = [text(['a', 'b'], 3), text(['a', 'b', '/'], 4)];
        const expected = naiveGrant(joined, `${namespace}\0${path}`);
        const found = VARIABLE.filter((one) => compiled.allowsVariable(namespace, path, one));
        const isRight =
          found.join() === VARIABLE.filter((one) => expected.includes(one)).join() &&
          (found.length === 0 || compiled.hasAnyVariableRule(namespace));
        if (!isRight) wrong.push(`${JSON.stringify(rules)} allows ${namespace} ${path} ${found.join()}`);
      }
    }
    expect(wrong).toEqual([]);
  },
  TIMEOUT_MS,
);
