import { TemplateFunctionError, type TemplateFunction, type TemplateFunctions } from '@waybill/gotemplate';
import type { ConsulPair } from '../../logins/consul-reads.js';
import { memberOf, textOf } from '../../logins/server-call.js';
import type { TemplateInputs } from './template-inputs.js';
import type { LoginKind, LoginValue } from './template-source.js';

const refuse = (reason: string): never => {
  throw new TemplateFunctionError(reason);
};

const textIn = (value: unknown, what: string): string =>
  typeof value === 'string' ? value : refuse(`${what} is wanted`);
const nameIn = (value: unknown, what: string): string => textIn(value, what) || refuse(`${what} is wanted`);

/**
 * Returns the functions of templates that read from Vault and Consul with the task's tokens (AG-298, AG-299). A function
 * of a product whose block the task does not have fails the template.
 */
export function loginFunctions(inputs: TemplateInputs): TemplateFunctions {
  /** Returns the value of an input; undefined while it is unknown or refused. */
  const read = (kind: LoginKind, name: string, what: string): { readonly value: unknown } | undefined => {
    if (!inputs.hasSource(kind)) {
      const block = kind.startsWith('vault.') ? 'vault' : 'consul';
      refuse(`the task has no ${block} block, whose token this function needs`);
    }
    const found = inputs.readInput(kind, name, what) as LoginValue | undefined;
    if (found && 'refused' in found) inputs.markMissing(`${what}: ${found.refused}`);
    return found && 'value' in found ? found : undefined;
  };
  const secretAt = (question: readonly unknown[]): unknown => {
    const texts = question.map((part) => textIn(part, 'a path, and then field=value'));
    const what = `vault.read(${nameIn(texts[0], 'a path')})`;
    const found = read('vault.read', JSON.stringify(texts), what);
    if (found && found.value === undefined) inputs.markMissing(what);
    return found?.value;
  };
  const certificate: TemplateFunction = (...question) => {
    const data = memberOf(secretAt(question), 'Data');
    if (data === undefined) return undefined;
    const chain = memberOf(data, 'ca_chain');
    return {
      Cert: textOf(memberOf(data, 'certificate')),
      Key: textOf(memberOf(data, 'private_key')),
      CA: textOf(memberOf(data, 'issuing_ca')),
      CAChain: Array.isArray(chain) ? chain.map(String) : [],
    };
  };
  const keyAt = (name: unknown): string | null | undefined => {
    const path = nameIn(name, 'a key');
    return read('kv.get', path, `kv.get(${path})`)?.value as string | null | undefined;
  };
  const keysBelow = (prefix: unknown): readonly ConsulPair[] | undefined => {
    const path = textIn(prefix, 'a prefix');
    return read('kv.list', path, `kv.list(${path})`)?.value as readonly ConsulPair[] | undefined;
  };
  const needsSome =
    (list: (prefix: unknown) => readonly ConsulPair[]): TemplateFunction =>
    (prefix) => {
      const found = list(prefix);
      if (found.length === 0) inputs.markMissing(`kv.list(${String(prefix)})`);
      return found;
    };
  const ls = (prefix: unknown): readonly ConsulPair[] =>
    (keysBelow(prefix) ?? []).filter(({ Key }) => !Key.includes('/'));
  const tree = (prefix: unknown): readonly ConsulPair[] => keysBelow(prefix) ?? [];
  return {
    secret: (...question) => secretAt(question),
    secrets: (path) => read('vault.list', nameIn(path, 'a path'), `vault.list(${String(path)})`)?.value ?? [],
    pkiCert: certificate,
    key: (name) => {
      const value = keyAt(name);
      if (value === null) inputs.markMissing(`kv.get(${String(name)})`);
      return value ?? '';
    },
    keyExists: (name) => typeof keyAt(name) === 'string',
    keyOrDefault: (name, otherwise) => keyAt(name) || otherwise,
    ls,
    tree,
    safeLs: needsSome(ls),
    safeTree: needsSome(tree),
    service: (name, states = 'passing') => {
      const question = `${nameIn(name, 'the name of a service')}|${textIn(states, 'a state')}`;
      return read('health.service', question, `health.service(${question})`)?.value ?? [];
    },
    services: (place = '') =>
      read('catalog.services', textIn(place, '@datacenter'), `catalog.services(${String(place)})`)?.value ?? [],
  };
}
