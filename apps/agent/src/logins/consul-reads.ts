import { consulHeaders, consulQuery } from './consul.js';
import type { LoginRead, ReadAnswer, ReadContext } from './login-read.js';
import { jsonOf, memberOf, numberOf, type ServerAnswer, textOf } from './server-call.js';

/** The time in seconds for which Consul holds a read back until something has changed. */
export const CONSUL_WAIT_S = 60;
/** Consul adds up to a sixteenth of the time, and the network takes some. */
const ANSWER_TIMEOUT_MS = CONSUL_WAIT_S * 1_000 + 15_000;
/** The shortest time between two reads, because any write below a path ends a wait. */
const BETWEEN_READS_MS = 250;
const NOT_FOUND = 404;

/** Pair is a key of Consul below a prefix, with its value. */
export interface ConsulPair {
  readonly Key: string;
  readonly Value: string;
  readonly Path: string;
}

/** Splits `name@datacenter`. */
function placed(name: string): { readonly name: string; readonly dc: Readonly<Record<string, string>> } {
  const at = name.lastIndexOf('@');
  return at === -1 ? { name, dc: {} } : { name: name.slice(0, at), dc: { dc: name.slice(at + 1) } };
}

const encoded = (path: string): string => path.replace(/^\/+/, '').split('/').map(encodeURIComponent).join('/');

/** Returns the read of one key (AG-299). The value is null if there is no such key. */
export function consulValue(given: string): LoginRead {
  const { name, dc } = placed(given);
  return blocking(`/v1/kv/${encoded(name)}`, dc, (found) => {
    const [pair] = listOf(found);
    return pair === undefined ? null : decoded(pair);
  });
}

/** Returns the read of all keys below a prefix (AG-299). The value is a list of ConsulPair. */
export function consulKeys(given: string): LoginRead {
  const { name, dc } = placed(given);
  const prefix = `${name.replace(/^\/+|\/+$/g, '')}/`;
  const path = prefix === '/' ? '' : prefix;
  return blocking(`/v1/kv/${encoded(path)}`, { ...dc, recurse: 'true' }, (found) =>
    listOf(found).flatMap((pair): ConsulPair[] => {
      const Path = textOf(memberOf(pair, 'Key'));
      const Key = Path.slice(path.length);
      return Key === '' || Key.endsWith('/') ? [] : [{ Key, Value: decoded(pair), Path }];
    }),
  );
}

/** ServiceQuestion is `[tag.]name[@datacenter]` and the accepted states, separated by `|`. */
export function consulService(given: string): LoginRead {
  const [whole = '', states = 'passing'] = given.split('|');
  const { name: tagged, dc } = placed(whole);
  const dot = tagged.indexOf('.');
  const [tag, name] = dot === -1 ? ['', tagged] : [tagged.slice(0, dot), tagged.slice(dot + 1)];
  const accepted = states.split(',').map((state) => state.trim());
  const query = { ...dc, ...(tag !== '' && { tag }), ...(accepted.join() === 'passing' && { passing: 'true' }) };
  return blocking(`/v1/health/service/${encoded(name)}`, query, (found) =>
    listOf(found)
      .map(templateService)
      .filter(({ Status }) => accepted.includes('any') || accepted.includes(Status))
      .toSorted((a, b) => compare(a.Node, b.Node) || compare(a.ID, b.ID)),
  );
}

/** Returns the read of the names of all services with their tags (AG-299). @param given empty, or `@datacenter` */
export function consulServices(given: string): LoginRead {
  return blocking('/v1/catalog/services', placed(given).dc, (found) =>
    typeof found !== 'object' || found === null
      ? []
      : Object.entries(found)
          .map(([Name, Tags]) => ({ Name, Tags: Array.isArray(Tags) ? Tags.map(String).toSorted() : [] }))
          .toSorted((a, b) => compare(a.Name, b.Name)),
  );
}

/** Makes a read that Consul holds back until something has changed since the last one. */
function blocking(
  path: string,
  query: Readonly<Record<string, string>>,
  valueOf: (found: unknown) => unknown,
): LoginRead {
  return async (context) => {
    const answer = await request(context, path, query);
    const found = answer.status === NOT_FOUND ? undefined : jsonOf(answer, 'Consul');
    return { value: valueOf(found), index: indexAfter(answer, context.last), againMs: BETWEEN_READS_MS };
  };
}

function request(
  { opened, token, last, signal }: ReadContext,
  path: string,
  query: Readonly<Record<string, string>>,
): Promise<ServerAnswer> {
  const index = last?.index ?? 0;
  const wait: Readonly<Record<string, string>> = index > 0 ? { index: String(index), wait: `${CONSUL_WAIT_S}s` } : {};
  const place = {
    namespace: opened.wanted.namespace || opened.server.namespace,
    partition: opened.wanted.partition,
  };
  return opened.server.call({
    method: 'GET',
    path: `${path}${consulQuery(place, { ...query, ...wait })}`,
    headers: consulHeaders(token),
    timeoutMs: ANSWER_TIMEOUT_MS,
    signal,
  });
}

/** An index that goes back, as after a restore of Consul, begins anew. */
const indexAfter = ({ index }: ServerAnswer, last: ReadAnswer | undefined): number =>
  index < (last?.index ?? 0) ? 0 : index;

const listOf = (found: unknown): readonly unknown[] => (Array.isArray(found) ? found : []);
const decoded = (pair: unknown): string => Buffer.from(textOf(memberOf(pair, 'Value')), 'base64').toString('utf8');
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Returns a service as templates see it. Its address is that of its node unless it has one. */
function templateService(entry: unknown) {
  const [node, service] = [memberOf(entry, 'Node'), memberOf(entry, 'Service')];
  const tags = memberOf(service, 'Tags');
  const checks = listOf(memberOf(entry, 'Checks')).map((check) => textOf(memberOf(check, 'Status')));
  return {
    ID: textOf(memberOf(service, 'ID')),
    Name: textOf(memberOf(service, 'Service')),
    Node: textOf(memberOf(node, 'Node')),
    NodeAddress: textOf(memberOf(node, 'Address')),
    NodeDatacenter: textOf(memberOf(node, 'Datacenter')),
    Address: textOf(memberOf(service, 'Address')) || textOf(memberOf(node, 'Address')),
    Port: numberOf(memberOf(service, 'Port')),
    Tags: Array.isArray(tags) ? tags.map(String) : [],
    ServiceMeta: memberOf(service, 'Meta') ?? {},
    Status: worstOf(checks),
  };
}

/** The state of a service is that of its worst check. */
const worstOf = (states: readonly string[]): string =>
  ['maintenance', 'critical', 'warning'].find((state) => states.includes(state)) ?? 'passing';
