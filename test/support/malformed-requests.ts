import { shellJob } from './api-client.js';

/** A request that no client means. */
export interface MalformedRequest {
  readonly fault: string;
  readonly method: string;
  /** As it is written to the wire. */
  readonly target: string;
  readonly body: Buffer | undefined;
}

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly requestBody?: object }>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}
/** Where a value stands in a job, with what it has to be. */
interface Place {
  readonly path: readonly (string | number)[];
  readonly type: string;
}

const HOSTILE_NAMES = [
  '..%2f..%2fetc%2fpasswd',
  '%00',
  '%ff%fe',
  '%zz',
  "'%20or%201=1--",
  '%0d%0aX-Evil:%201',
  '%E2%80%AE%F0%9F%92%A9',
  '*',
  '%3e',
  'a'.repeat(5_000),
  '__proto__',
  'constructor',
];
const BAD_QUERIES = [
  'index=abc',
  'index=-1',
  'index=1e3',
  'index=99999999999999999999999',
  'wait=soon&index=1',
  'per_page=many',
  'per_page=1.5',
  'stale=perhaps',
];
const BAD_LIST_QUERIES = ['filter=(((', 'filter=Name%20==', `filter=${'('.repeat(3_000)}`, 'filter=%ff'];
/** Of each JSON type, in place of another. */
const VALUES: Readonly<Record<string, unknown>> = {
  string: 'a text',
  integer: 12,
  number: 0.5,
  boolean: true,
  array: [1, [2]],
  object: { a: { b: 1 } },
};
const LISTS = ['/v1/jobs', '/v1/allocations', '/v1/evaluations', '/v1/deployments', '/v1/nodes', '/v1/namespaces'];
const MAX_DEPTH = 7;

/**
 * Makes malformed requests from the description that the API serves of itself: from the same numbers the same ones.
 * None of them may be answered with success, none may leave anything behind.
 */
export class MalformedRequests {
  private readonly operations: readonly { readonly path: string; readonly method: string }[];
  private readonly bodies: readonly { readonly path: string; readonly method: string }[];
  private readonly places: readonly Place[];
  private made = 0;
  private readonly makers: readonly (() => MalformedRequest)[] = [
    () => this.wrongType(),
    () => this.wrongType(),
    () => this.noJson(),
    () => this.notAnObject(),
    () => this.badQuery(),
    () => this.hostileName(),
    () => this.wrongMethod(),
    () => this.brokenRule(),
  ];

  constructor(
    private readonly document: Document,
    /** In [0, 1). */
    private readonly random: () => number,
  ) {
    const all = Object.entries(document.paths).flatMap(([path, byMethod]) =>
      Object.entries(byMethod).map(([method, { requestBody }]) => ({
        path,
        method,
        takesBody: requestBody !== undefined,
      })),
    );
    this.operations = all.filter(({ path }) => path.startsWith('/v1/'));
    // Raw bytes are a payload whatever they are.
    this.bodies = all.filter(
      ({ takesBody, path }) => takesBody && !path.endsWith('/payload') && path !== '/v1/jobs/parse',
    );
    this.places = this.placesOf({ $ref: '#/components/schemas/JobInput' }, ['Job'], 0);
  }

  next(): MalformedRequest {
    this.made++;
    return this.one(this.makers)();
  }

  private one<T>(of: readonly T[]): T {
    const chosen = of[Math.floor(this.random() * of.length)];
    if (chosen === undefined) throw new Error('nothing to choose from');
    return chosen;
  }

  /** A job with every member that leads to a value of a wrong type. */
  private wrongType(): MalformedRequest {
    const { path, type } = this.one(this.places);
    const wrong = this.one(
      Object.keys(VALUES).filter((one) => one !== type && !(type === 'number' && one === 'integer')),
    );
    const body: Record<string, unknown> = { Job: this.job() };
    let at = body as Record<string | number, unknown>;
    for (const [depth, key] of path.entries()) {
      if (depth === path.length - 1) at[key] = VALUES[wrong];
      else at = (at[key] ??= typeof path[depth + 1] === 'number' ? [] : {}) as Record<string | number, unknown>;
    }
    const where = this.one(['/v1/jobs', '/v1/validate/job', `/v1/job/${this.id}`, `/v1/job/${this.id}/plan`]);
    return this.put(`${wrong} at ${path.join('.')}`, where, JSON.stringify(body));
  }

  private noJson(): MalformedRequest {
    const whole = JSON.stringify({ Job: this.job(), JobID: this.id, Text: 'abc', Prefix: 'abc' });
    const cut = whole.slice(0, 1 + Math.floor(this.random() * (whole.length - 1)));
    const body = this.one([
      cut,
      '{"Job":'.repeat(400),
      `{"Job":${'['.repeat(5_000)}${']'.repeat(5_000)}}`,
      `{"a":${'{"a":'.repeat(300)}1${'}'.repeat(300)}}`,
      'not json',
      '\u0000\u0001',
      '{"Job":NaN}',
      "{'Job':1}",
      '',
      Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
      Buffer.from('{"Job":{"ID":"x"}}', 'utf16le'),
    ]);
    return this.put('no JSON', '/v1/jobs', body);
  }

  /** JSON, but not what any write takes. */
  private notAnObject(): MalformedRequest {
    const { path, method } = this.one(this.bodies);
    const body = this.one(['"text"', '[]', '12', 'true', '[{"Job":{}}]', '-0.5e300']);
    return { ...this.put(`${body} to ${path}`, this.filled(path, this.id), body), method: method.toUpperCase() };
  }

  private badQuery(): MalformedRequest {
    const path = this.one(LISTS);
    const query = this.one([
      ...BAD_QUERIES,
      ...BAD_LIST_QUERIES,
      ...(path === '/v1/jobs' || path === '/v1/namespaces' ? [] : ['prefix=zz', 'prefix=abc']),
    ]);
    return { fault: query.slice(0, 40), method: 'GET', target: `${path}?${query}`, body: undefined };
  }

  private hostileName(): MalformedRequest {
    const named = [
      '/v1/job/{x}',
      '/v1/job/{x}/summary',
      '/v1/allocation/{x}',
      '/v1/evaluation/{x}',
      '/v1/node/{x}',
      '/v1/deployment/{x}',
      '/v1/namespace/{x}',
      '/v1/node/pool/{x}',
      '/v1/client/fs/ls/{x}',
      '/v1/waybill/state/job/{x}',
      '/v1/agent/keyring/{x}',
    ];
    return {
      fault: 'hostile name',
      method: 'GET',
      target: this.filled(this.one(named), this.one(HOSTILE_NAMES)),
      body: undefined,
    };
  }

  private wrongMethod(): MalformedRequest {
    const { path } = this.one(this.operations);
    return { fault: 'wrong method', method: 'PATCH', target: this.filled(path, this.id), body: undefined };
  }

  /** Everything of the right type, and yet no job. */
  private brokenRule(): MalformedRequest {
    const over = this.one<Record<string, unknown>>([
      { ID: '' },
      { ID: 'with space' },
      { ID: 'null\u0000byte' },
      { Type: 'nothing' },
      { Type: 'core' },
      { Priority: 1_000_000 },
      { TaskGroups: [] },
      { Datacenters: [''] },
      { NodePool: 'no-such-pool' },
      { Constraints: [{ LTarget: '${attr.x', RTarget: '(', Operand: 'regexp' }] },
      { Periodic: { Specs: ['never'] } },
      { Payload: 'AAAA' },
      { Region: 'elsewhere' },
    ]);
    return this.put(`rule of ${Object.keys(over)[0]}`, '/v1/jobs', JSON.stringify({ Job: { ...this.job(), ...over } }));
  }

  private put(fault: string, target: string, body: string | Buffer): MalformedRequest {
    return { fault, method: 'PUT', target, body: typeof body === 'string' ? Buffer.from(body) : body };
  }

  private get id(): string {
    return `malformed-${this.made}`;
  }

  private job(): Record<string, unknown> {
    return shellJob(this.id, 'true', { count: 0 }) as Record<string, unknown>;
  }

  private filled(path: string, name: string): string {
    return path.replaceAll(/\{\w+\}/g, name);
  }

  /** Every value that a job may hold, down to MAX_DEPTH. */
  private placesOf(schema: Schema, path: readonly (string | number)[], depth: number): Place[] {
    const meant = this.meantBy(schema);
    if (depth > MAX_DEPTH || meant === undefined) return [];
    const type = meant.type;
    const own = type === undefined || path.length === 1 ? [] : [{ path, type }];
    const inside = Object.entries(meant.properties ?? {}).flatMap(([name, one]) =>
      this.placesOf(one, [...path, name], depth + 1),
    );
    const items = meant.items ? this.placesOf(meant.items, [...path, 0], depth + 1) : [];
    const values = meant.additionalProperties
      ? this.placesOf(meant.additionalProperties, [...path, 'key'], depth + 1)
      : [];
    return [...own, ...inside, ...items, ...values];
  }

  private meantBy(schema: Schema): Schema | undefined {
    if (schema.anyOf) return schema.anyOf[0] && this.meantBy(schema.anyOf[0]);
    if (schema.$ref === undefined) return schema;
    return this.document.components.schemas[schema.$ref.split('/').at(-1) ?? ''];
  }
}
