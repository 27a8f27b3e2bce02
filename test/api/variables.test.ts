import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AccessCluster } from '../support/access-cluster.js';
import { runCli } from '../support/cli.js';
import { EventReader } from '../support/event-reader.js';
import { eventually } from '../support/wait.js';

interface Variable {
  Namespace: string;
  Path: string;
  Items?: Record<string, string>;
  Lock?: { ID: string; TTL: string; LockDelay: string };
  CreateIndex: number;
  ModifyIndex: number;
}

/** The shortest there is: how long tests wait depends on it. */
const SHORT_LOCK = { TTL: '10s', LockDelay: '1ms' };

let cluster: AccessCluster;
/** Locks that are taken before everything else, as time has to pass: whether the first is ever renewed. */
let silent: Variable;
let renewed: Variable;
/** Every value that was ever sent: none of them may be found outside of answers. */
const values: string[] = [];

beforeAll(async () => {
  const env = { WAYBILL_KEYRING_KEY: randomBytes(32).toString('hex') };
  cluster = await AccessCluster.start(['projector', 'broker', 'scheduler', 'api'], env);
  await cluster.asked('PUT', '/v1/namespace/team', { Name: 'team' });
  // The broker makes the first root key when it takes its role.
  await eventually('the keyring is ready', async () => (await put('ready', { probe: 'x' })).status === 200, 30_000);
  const take = async (name: string): Promise<Variable> =>
    (await ask('PUT', `var/${name}?lock-acquire`, { Items: { holder: 'first' }, Lock: SHORT_LOCK })).body;
  [silent, renewed] = [await take('timed/silent'), await take('timed/renewed')];
});
afterAll(async () => {
  await cluster?.stop();
});

async function ask<T = Variable>(method: string, url: string, body?: unknown, token = cluster.management) {
  const answer = await cluster.send(method, `/v1/${url}`, token, body);
  const text = await answer.text();
  const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true;
  const index = Number(answer.headers.get('x-nomad-index'));
  return { status: answer.status, text, body: (isJson ? JSON.parse(text) : undefined) as T, index, answer };
}
const refusal = async (...given: Parameters<typeof ask>): Promise<[number, string]> => {
  const { status, text } = await ask(...given);
  return [status, text];
};

function secret(): string {
  const value = `hush-${randomUUID()}`;
  values.push(value);
  return value;
}
const put = (name: string, Items: Record<string, string>, query = '', token?: string) =>
  ask('PUT', `var/${name}${query}`, { Items }, token);

describe('variables', () => {
  it('OP-191, OP-194, OP-195, OP-197: written, read, replaced as a whole, deleted', async () => {
    const first = { user: 'app', password: secret() };
    const made = await put('app/db', first);
    expect(made).toMatchObject({ status: 200, body: { Namespace: 'default', Path: 'app/db', Items: first } });
    expect(made.body.CreateIndex).toBe(made.index);
    expect(made.body).not.toHaveProperty('Lock');
    const second = { password: secret(), [`ключ "${'\u0001'}`]: ' \n', __proto__x: '' };
    const again = await ask('POST', 'var/app/db', { Items: second, Path: 'ignored' });
    expect(again.body).toMatchObject({ CreateIndex: made.index, ModifyIndex: again.index, Items: second });
    const read = await ask('GET', 'var/app/db');
    expect(read.body).toEqual(again.body);
    expect(read.index).toBe(again.index);
    expect(await refusal('GET', 'var/app/db?namespace=team')).toEqual([404, 'variable not found']);
    const gone = await ask('DELETE', 'var/app/db');
    expect([gone.status, gone.text]).toEqual([204, '']);
    expect(await refusal('GET', 'var/app/db')).toEqual([404, 'variable not found']);
    expect((await ask('DELETE', 'var/app/db')).status).toBe(204);
  });

  it('OP-190 to OP-192, OP-199, API-258: what is refused, and by which text', async () => {
    const Items = { a: 'b' };
    const cases: [method: string, url: string, body: unknown, status: number, text: string][] = [
      ['PUT', 'var/', { Items }, 400, 'missing variable path'],
      ['GET', 'var/', undefined, 400, 'missing variable path'],
      ['PATCH', 'var/a', undefined, 400, 'Invalid method'],
      ['PUT', 'var/a.b', { Items }, 400, 'invalid path "a.b"'],
      ['PUT', 'var/nomad/other', { Items }, 400, 'nomad/jobs'],
      ['PUT', 'var/a', {}, 400, 'variable missing required Items object'],
      ['PUT', 'var/a', { Items: { a: 'x'.repeat(65_536) } }, 400, 'variables are limited to 64KiB in total size'],
      ['PUT', 'var/a?namespace=*', { Items }, 400, 'can not target wildcard ("*")namespace'],
      ['PUT', 'var/a?namespace=nowhere', { Items }, 400, 'variable "a" is in nonexistent namespace "nowhere"'],
      ['PUT', 'var/a?cas=x', { Items }, 400, 'can not parse cas: '],
      ['PUT', 'var/a?cas=0&lock-acquire', { Items }, 400, "CAS can't be used with lock operations"],
      ['PUT', 'var/a?lock-release&lock-acquire', { Items }, 400, 'multiple lock operations'],
      ['PUT', 'var/a', { Items, Lock: { TTL: '20s' } }, 400, 'variable should not contain lock definition'],
    ];
    for (const [method, url, body, status, text] of cases) {
      const got = await refusal(method, url, body);
      expect(got, `${method} ${url}`).toEqual([status, expect.stringContaining(text)]);
    }
    expect((await put('largest', { a: '\u0001'.repeat(65_535) })).status).toBe(200);
    expect((await ask('GET', 'var/largest')).body.Items).toEqual({ a: '\u0001'.repeat(65_535) });
  });

  it('OP-196, OP-198: of many checked writes at once one wins, and the others are told by what', async () => {
    const attempts = await Promise.all(Array.from({ length: 8 }, (_, n) => put('race', { n: String(n) }, '?cas=0')));
    const won = attempts.filter(({ status }) => status === 200);
    expect(won).toHaveLength(1);
    for (const { status, body, index } of attempts)
      if (status !== 200) expect([status, body, index]).toEqual([409, won[0]?.body, won[0]?.index]);
    const conflict = await ask('DELETE', `var/race?cas=${(won[0]?.index ?? 0) - 1}`);
    expect(conflict).toMatchObject({ status: 409, body: won[0]?.body });
    expect((await ask('DELETE', `var/race?cas=${won[0]?.index}`)).status).toBe(204);
    const absent = await put('race', { n: '1' }, '?cas=7');
    expect(absent).toMatchObject({ status: 409, body: { Namespace: 'default', Path: 'race' } });
    expect(Object.keys(absent.body)).toEqual(['Namespace', 'Path']);
  });

  it('OP-193: lists have metadata only, by prefix, in pages, filtered, in all namespaces', async () => {
    for (const name of ['list/b', 'list/a/1', 'list/a/2']) await put(name, { value: secret() });
    await put('list/c', { value: secret() }, '?namespace=team');
    const paths = async (query: string) => {
      const { body, answer } = await ask<Variable[]>('GET', `vars?${query}`);
      for (const row of body) expect(row).not.toHaveProperty('Items');
      return [body.map(({ Namespace, Path }) => `${Namespace} ${Path}`), answer.headers.get('x-nomad-nexttoken')];
    };
    const all = ['default list/a/1', 'default list/a/2', 'default list/b', 'team list/c'];
    expect(await paths('prefix=list/&namespace=*')).toEqual([all, null]);
    expect(await paths('prefix=list/a')).toEqual([all.slice(0, 2), null]);
    expect(await paths('prefix=list/&namespace=*&per_page=3')).toEqual([all.slice(0, 3), 'team.list/c']);
    expect(await paths('prefix=list/&namespace=*&per_page=3&next_token=team.list/c')).toEqual([all.slice(3), null]);
    const filter = encodeURIComponent('Path matches "b$"');
    expect(await paths(`prefix=list/&filter=${filter}`)).toEqual([['default list/b'], null]);
    expect(await paths('prefix=nothing')).toEqual([[], null]);
    const search = await ask<{ Matches: Record<string, string[]> }>('PUT', 'search', {
      Context: 'vars',
      Prefix: 'list/',
    });
    expect(search.body.Matches['vars']).toEqual(['list/a/1', 'list/a/2', 'list/b']);
  });

  it('OP-194: a blocking read of a path waits until something is written there', async () => {
    const { index } = await ask('GET', 'var/not/yet');
    const waiting = ask('GET', `var/not/yet?index=${Math.max(1, index)}&wait=30s`);
    await put('elsewhere', { a: 'b' });
    const made = await put('not/yet', { a: secret() });
    expect((await waiting).body).toEqual(made.body);
  });
});

describe('the command line', () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'waybill-vars-'));
  const cli = (words: string, env: NodeJS.ProcessEnv = {}) =>
    runCli(cluster.waybill.api.url, words.split(' '), { WAYBILL_TOKEN: cluster.management, ...env });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  it('CL-853: var put writes what is new or as it was seen, and says what stands in the way', async () => {
    const password = secret();
    writeFileSync(path.join(dir, 'password'), password);
    const made = await cli(`var put -out=none cli/db user=app password=@${path.join(dir, 'password')}`);
    const { body } = await ask('GET', 'var/cli/db');
    expect([made.code, made.out]).toEqual([0, `Created variable "cli/db" with modify index ${body.ModifyIndex}\n`]);
    expect(body.Items).toEqual({ user: 'app', password });
    const again = await cli('var put cli/db user=other');
    expect(again.code).toBe(1);
    expect(again.err).toContain('Check-and-Set conflict');
    expect(again.err).toContain(`check-index of 0 does not match the server-side index of ${body.ModifyIndex}`);
    expect(again.err).not.toContain(password);
    const spec = path.join(dir, 'spec.nv.hcl');
    writeFileSync(spec, (await cli('var get -out=hcl cli/db')).out);
    const edited = await cli(`var put @${spec} user=third password=`);
    expect(JSON.parse(edited.out)).toMatchObject({ Path: 'cli/db', Items: { user: 'third' } });
    expect((await cli(`var put @${spec} user=fourth`)).code).toBe(1);
    expect((await cli('var put -force cli/db user=fifth')).code).toBe(0);
    expect((await cli(`var put -check-index=1 cli/db user=sixth`)).code).toBe(1);
    expect((await cli('var put -namespace=* cli/db user=x')).err).toContain(
      'The wildcard namespace ("*") is not valid',
    );
  });

  it('CL-851, CL-852: var get and var list in each of their forms', async () => {
    await put('cli/shown', { b: 'two', a: 'one' });
    const table = await cli('var get -out=table cli/shown');
    expect(table.out.split('\n').filter((line) => !line.startsWith('Create Time'))).toEqual([
      'Namespace   = default',
      'Path        = cli/shown',
      expect.stringMatching(/^Check Index = \d+$/),
      '',
      'Items',
      'a = one',
      'b = two',
      '',
    ]);
    expect(await cli('var get -item=a cli/shown')).toMatchObject({ code: 0, out: 'one' });
    expect(await cli('var get -item=x cli/shown')).toMatchObject({
      code: 1,
      out: '',
      err: 'Variable does not contain "x" item\n',
    });
    expect(await cli('var get cli/none')).toMatchObject({ code: 1, err: 'Variable not found\n' });
    expect(JSON.parse((await cli('var get cli/shown')).out)).toMatchObject({ Items: { a: 'one' } });
    expect((await cli('var get -out=go-template -template={{.Items.a}} cli/shown')).out).toBe('one\n');
    expect((await cli('var list -out=terse cli/shown')).out).toBe('cli/shown\n');
    expect((await cli('var list -out=table cli/shown')).out).toMatch(
      /^Namespace +Path +Last Updated\ndefault +cli\/shown +\d/,
    );
    expect((await cli('var list -out=table nothing')).out).toBe('No matching variables found\n');
    expect(JSON.parse((await cli('var list -per-page=1 cli/')).out)).toMatchObject({
      Data: [{ Path: expect.stringMatching(/^cli\//) }],
      QueryMeta: { NextToken: expect.stringMatching(/^default\.cli\//) },
    });
  });

  it('CL-853: var purge and var init', async () => {
    const { index } = await put('cli/gone', { a: 'b' });
    expect((await cli(`var purge -check-index=${index - 1} cli/gone`)).err).toContain('Check-and-Set conflict');
    expect(await cli(`var purge -check-index=${index} cli/gone`)).toMatchObject({
      code: 0,
      out: 'Successfully purged variable "cli/gone"!\n',
    });
    const file = path.join(dir, 'example.json');
    expect((await cli(`var init -out=json ${file}`)).out).toBe(`Example variable specification written to ${file}\n`);
    expect((await cli(`var init ${file}`)).err).toBe(`File "${file}" already exists\n`);
    expect((await cli(`var put @${file}`)).code).toBe(0);
  });

  it('OP-199 to OP-201: var lock runs its command while nobody else can have the lock', async () => {
    await put('cli/lock', { a: 'b' });
    const seen = path.join(dir, 'seen');
    const holds = cli(`var lock -ttl=10s -shell cli/lock while [ ! -e ${seen} ]; do sleep 0.05; done; exit 3`);
    await eventually('it is locked', async () => (await ask('GET', 'var/cli/lock')).body.Lock !== undefined, 20_000);
    expect((await cli('var lock -max-retry=0 cli/lock true')).err).toContain('is held by somebody else');
    writeFileSync(seen, '');
    expect((await holds).code).toBe(3);
    expect((await ask('GET', 'var/cli/lock')).body).not.toHaveProperty('Lock');
    expect((await ask('GET', 'var/cli/lock')).body.Items).toEqual({ a: 'b' });
    expect((await cli('var lock -max-retry=0 cli/lock true')).code).toBe(0);
  });
});

describe('rights', () => {
  const rules = (...paths: [pattern: string, ...capabilities: string[]][]) =>
    `namespace "default" { variables { ${paths
      .map(([pattern, ...capabilities]) => `path "${pattern}" { capabilities = ${JSON.stringify(capabilities)} }`)
      .join('\n')} } }`;

  it('OP-193 to OP-197: each path by its own capability; lists are filtered row by row', async () => {
    await put('rights/open', { a: 'b' });
    await put('rights/listed', { a: 'b' });
    await put('rights/hidden', { a: secret() });
    const token = await cluster.tokenWith(
      rules(['rights/open', 'read', 'write', 'destroy'], ['rights/listed', 'list'], ['rights/blind', 'write']),
    );
    const status = async (method: string, url: string, body?: unknown): Promise<number> =>
      (await ask(method, url, body, token)).status;
    const Items = { a: 'c' };
    expect(await status('GET', 'var/rights/open')).toBe(200);
    expect(await status('PUT', 'var/rights/open', { Items })).toBe(200);
    for (const name of ['rights/listed', 'rights/hidden', 'rights/nothing'])
      for (const method of ['GET', 'PUT', 'DELETE'])
        expect(await status(method, `var/${name}`, method === 'PUT' ? { Items } : undefined), name).toBe(403);
    expect(await status('PUT', 'var/rights/open?namespace=team', { Items })).toBe(403);
    expect(await status('PUT', 'var/rights/open', { Namespace: 'team', Items })).toBe(403);
    const list = await ask<Variable[]>('GET', 'vars?prefix=rights/&namespace=*', undefined, token);
    expect(list.body.map(({ Path }) => Path)).toEqual(['rights/listed', 'rights/open']);
    expect((await ask('GET', 'vars?namespace=team', undefined, token)).status).toBe(403);
    expect((await ask('GET', 'vars', undefined, '')).status).toBe(403);
    const search = await ask<{ Matches: Record<string, string[]> }>(
      'PUT',
      'search',
      { Context: 'vars', Prefix: 'rights' },
      token,
    );
    expect(search.body.Matches['vars']).toEqual(['rights/listed', 'rights/open']);
    expect(
      (await ask('PUT', 'search', { Context: 'vars', Prefix: 'rights' }, await cluster.tokenWith('')))?.status,
    ).toBe(403);
  });

  it('API-267, CL-1028: the history of a path is for who may list it, and says who wrote it', async () => {
    await put('history/mine', { a: secret() });
    await put('history/other', { a: secret() });
    const token = await cluster.tokenWith(rules(['history/mine', 'list']));
    const log = (query: string) =>
      ask<{ Objects: { ID: string }[] | null }[]>('GET', `waybill/log?${query}`, undefined, token);
    const own = await log('kind=var&id=history/mine');
    expect(own.body.map(({ Objects }) => Objects?.map(({ ID }) => ID))).toEqual([['history/mine']]);
    for (const query of [
      'kind=var',
      'kind=var&id=history/other',
      'kind=var&id=history/',
      'kind=var&id=history/mine&namespace=*',
    ])
      expect((await log(query)).status, query).toBe(403);
    const { index } = await ask('GET', 'var/history/mine');
    const state = (name: string) => ask('GET', `waybill/state/var/${name}?index=${index}`, undefined, token);
    expect((await state('history/mine')).body).toMatchObject({ Path: 'history/mine', ModifyIndex: index });
    expect((await state('history/other')).status).toBe(403);
    const shown = await runCli(cluster.waybill.api.url, ['log', 'var', 'history/mine'], {
      WAYBILL_TOKEN: cluster.management,
    });
    expect(shown.out).toMatch(/VarApplyState .*created/);
  });

  it('OP-196: who may write and not read learns no items from a conflict', async () => {
    const token = await cluster.tokenWith(rules(['blind/*', 'write']));
    const made = await put('blind/a', { a: secret() });
    const conflict = await put('blind/a', { a: 'x' }, '?cas=1', token);
    expect([conflict.status, conflict.index]).toEqual([409, made.index]);
    expect(conflict.body).toMatchObject({ Path: 'blind/a', ModifyIndex: made.index });
    expect(conflict.body).not.toHaveProperty('Items');
    const own = await put('blind/a', { a: 'mine' }, '', token);
    expect(own.body.Items).toEqual({ a: 'mine' });
  });

  it('EV-40, EV-43, OP-205: events have metadata of paths that may be listed, and nothing of the others', async () => {
    const token = await cluster.tokenWith(rules(['seen/*', 'list']));
    const url = `${cluster.waybill.api.url}/v1/event/stream?topic=Variable`;
    const [some, all] = [await EventReader.open(url, token), await EventReader.open(url, cluster.management)];
    const nobody = await cluster.tokenWith('node { policy = "read" }');
    expect(await cluster.statusOf('GET', '/v1/event/stream?topic=Variable', nobody)).toBe(403);
    await put('unseen/a', { a: secret() });
    const { index } = await put('seen/a', { a: secret() });
    await ask('DELETE', 'var/seen/a');
    const isAfter = (lines: readonly { Index: number }[]) => lines.some((line) => line.Index > index);
    const [shown, everything] = [await some.until(isAfter), await all.until(isAfter)];
    expect(new Set(shown.flatMap(({ Events }) => Events.map(({ Key }) => Key)))).toEqual(new Set(['seen/a']));
    expect(everything.flatMap(({ Events }) => Events.map(({ Key }) => Key))).toContain('unseen/a');
    const last = shown.at(-1)?.Events[0];
    expect(last).toMatchObject({ Type: 'VariableUpdated', Namespace: 'default', Payload: { Deleted: true } });
    expect(Object.keys(last?.Payload['Metadata'] as object)).not.toContain('Items');
    some.close();
    all.close();
  });
});

it('OP-203: a lock’s ID is shown to its holder and to management tokens', async () => {
  const token = await cluster.tokenWith(
    'namespace "default" { variables { path "lock/*" { capabilities = ["read", "write"] } } }',
  );
  const taken = await put('lock/a', { holder: 'one' }, '?lock-acquire', token);
  const ID = taken.body.Lock?.ID ?? '';
  expect(taken.body).toMatchObject({ Lock: { TTL: '15s', LockDelay: '15s' }, Items: { holder: 'one' } });
  expect(ID).not.toBe('');
  expect((await ask('GET', 'var/lock/a')).body.Lock?.ID).toBe(ID);
  expect((await ask('GET', 'var/lock/a', undefined, token)).body).not.toHaveProperty('Lock');
  const other = await put('lock/a', { holder: 'two' }, '?lock-acquire', token);
  expect([other.status, other.body]).toEqual([409, { Namespace: 'default', Path: 'lock/a' }]);
  expect((await put('lock/a', { holder: 'two' })).body).toEqual({ Namespace: 'default', Path: 'lock/a' });
  const held = await ask('PUT', 'var/lock/a', { Items: { holder: 'still' }, Lock: { ID } }, token);
  expect(held).toMatchObject({ status: 200, body: { Lock: { ID } } });
  const wrong = await ask('PUT', 'var/lock/a?lock-release', { Lock: { ID: 'x' } }, token);
  expect([wrong.status, wrong.body]).toEqual([409, { Namespace: 'default', Path: 'lock/a' }]);
  const released = await ask('PUT', 'var/lock/a?lock-release', { Lock: { ID } }, token);
  expect([released.status, released.body.Lock]).toEqual([200, undefined]);
  expect(await refusal('PUT', 'var/lock/a?lock-release', { Lock: { ID } })).toEqual([
    409,
    "variable doesn't hold a lock",
  ]);
  expect(await refusal('PUT', 'var/lock/none?lock-release', { Lock: { ID } })).toEqual([404, "variable doesn't exist"]);
  expect((await ask('GET', 'var/lock/a')).body.Items).toEqual({ holder: 'still' });
});

it('OP-204, OP-273, CL-1064: what variables hold is in no stream, table, archive, log or history', async () => {
  const marker = secret();
  await put('scan/here', { password: marker });
  const lock = (await put('scan/here', { password: secret() }, '?lock-acquire')).body.Lock;
  const archive = await cluster.send('GET', '/v1/operator/snapshot', cluster.management);
  const archived = Buffer.from(await archive.arrayBuffer());
  const history = await ask<{ Name: string; Actor: { Kind: string } }[]>(
    'GET',
    'waybill/log?kind=var&id=scan/here&diff=true',
  );
  expect(history.body.map(({ Name, Actor }) => `${Name} ${Actor.Kind}`)).toEqual(Array(2).fill('VarApplyState token'));
  const state = await ask('GET', `waybill/state/var/scan/here?index=${history.index}`);
  expect(state.body).toMatchObject({ Path: 'scan/here', Lock: { ID: '' } });
  const database = new Client({ connectionString: cluster.waybill.stack.databaseUrl });
  await database.connect();
  const { rows: tables } = await database.query<{ name: string }>(
    "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')",
  );
  const stored: string[] = [];
  for (const { name } of tables) {
    const { rows } = await database.query<{ row: string }>(`select t::text as row from ${name} t`);
    stored.push(...rows.map(({ row }) => row));
  }
  await database.end();
  const places = new Map<string, Buffer>([
    ['the archive', archived],
    ['the database', Buffer.from(stored.join('\n'))],
    ['the history', Buffer.from(history.text + state.text)],
    ...filesBelow(cluster.waybill.dir).map((file): [string, Buffer] => [file, readFileSync(file)]),
  ]);
  expect(stored.join()).toContain('scan/here');
  const logged = [...places].filter(([name]) => name.includes('/streams/TXN/'));
  expect(logged.some(([, bytes]) => bytes.includes('scan/here'))).toBe(true);
  for (const [name, bytes] of places) {
    const found = values.filter((value) => bytes.includes(value));
    expect(found, name).toEqual([]);
  }
  expect(history.text + state.text).not.toContain(lock?.ID ?? '?');
});

it('OP-202: a lock ends after twice its TTL unless it is renewed, and then the next one takes it', async () => {
  const renew = (name: string, ID: string) => ask('PUT', `var/${name}?lock-renew`, { Lock: { ID } });
  const kept = await renew('timed/renewed', renewed.Lock?.ID ?? '');
  expect(kept).toMatchObject({ status: 200, index: renewed.ModifyIndex, body: { Lock: renewed.Lock } });
  expect(kept.body).not.toHaveProperty('Items');
  expect(await refusal('PUT', 'var/timed/renewed?lock-renew', { Lock: { ID: 'x' } })).toEqual([
    409,
    'attempting to modify locked variable',
  ]);
  expect(await refusal('PUT', 'var/timed/renewed?lock-renew', {})).toEqual([400, 'missing lock information']);
  expect(await refusal('PUT', 'var/timed/none?lock-renew', { Lock: { ID: 'x' } })).toEqual([
    404,
    "variable doesn't exist",
  ]);
  const index = silent.ModifyIndex;
  const released = await ask('GET', `var/timed/silent?index=${index}&wait=30s`);
  expect(released.body).not.toHaveProperty('Lock');
  expect(released.body.Items).toEqual({ holder: 'first' });
  const next = await put('timed/silent', { holder: 'second' }, '?lock-acquire');
  expect([next.status, next.body.Lock?.ID]).toEqual([200, expect.not.stringMatching(silent.Lock?.ID ?? '')]);
  const late = await ask('PUT', 'var/timed/silent', { Items: { holder: 'first' }, Lock: { ID: silent.Lock?.ID } });
  expect(late.status).toBe(409);
  expect((await put('timed/renewed', { holder: 'second' }, '?lock-acquire')).status).toBe(409);
}, 60_000);

/** Logs, the log's own files, and those of PostgreSQL. */
function filesBelow(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => statSync(file, { throwIfNoEntry: false })?.size ?? 0);
}
