import {
  fixtures,
  StateMachine,
  type TxnPayloads,
  type TxnType,
  eventsOf,
  archiveLines,
  objectChanges,
} from '@waybill/state';
import { NS_PER_HOUR, NS_PER_MINUTE } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { TokenSecrets } from '../token-secrets.js';
import type { GivenToken } from '../token-request.js';
import { bootstrapOf } from './bootstrap.js';
import { policyWrite } from './policy.js';
import { roleWrite } from './role.js';
import { tokenWrite, type TokenContext } from './token.js';

const NOW_MS = Date.parse('2026-01-01T00:00:00.000Z');
const SECRETS = new TokenSecrets(Buffer.alloc(32, 1));
const ACCESSOR = '11111111-2222-4333-8444-555555555555';
const SECRET = '99999999-8888-4777-8666-555555555555';
const ROLE = { ID: fixtures.uuid(1), Name: 'team' };

function context(over: Partial<TokenContext> = {}): TokenContext {
  let made = 0;
  return {
    stored: undefined,
    roles: [ROLE],
    secrets: SECRETS,
    limits: { minTtlNs: NS_PER_MINUTE, maxTtlNs: 24 * NS_PER_HOUR },
    nowMs: NOW_MS,
    newUuid: () => fixtures.uuid(0x800 + made++),
    ...over,
  };
}
const given = (over: Partial<GivenToken> = {}): GivenToken => ({
  AccessorID: '',
  SecretID: '',
  Name: 'ci',
  Type: 'client',
  Policies: ['readers'],
  Roles: null,
  Global: false,
  ExpirationTime: null,
  ExpirationTTL: 0,
  ...over,
});
const tokenOf = (decision: ReturnType<typeof tokenWrite>) => decision.payload.Tokens[0]!;

describe('a token that is created', () => {
  it('OP-149: gets accessor, secret and time here; the decision has the secret in no readable form', () => {
    const decision = tokenWrite(given(), context());
    const token = tokenOf(decision);
    const secret = fixtures.uuid(0x801);
    expect(token).toMatchObject({ AccessorID: fixtures.uuid(0x800), CreateTime: '2026-01-01T00:00:00.000Z' });
    expect(token.SecretHash).toBe(SECRETS.hash(secret));
    expect(SECRETS.open(token.AccessorID, token.SealedSecret)).toBe(secret);
    expect(JSON.stringify(decision)).not.toContain(secret);
  });

  it('OP-149: a client token may bring both; an accessor alone, or another form of them, is unknown', () => {
    const token = tokenOf(tokenWrite(given({ AccessorID: ACCESSOR, SecretID: SECRET.toUpperCase() }), context()));
    expect([token.AccessorID, token.SecretHash]).toEqual([ACCESSOR, SECRETS.hash(SECRET)]);
    for (const over of [
      { AccessorID: ACCESSOR },
      { AccessorID: ACCESSOR, SecretID: 'mine' },
      { AccessorID: 'mine', SecretID: SECRET },
      { AccessorID: ACCESSOR, SecretID: SECRET, Type: 'management', Policies: null },
    ])
      expect(() => tokenWrite(given(over), context())).toThrow(`cannot find token ${over.AccessorID}`);
  });

  it('OP-154: the expiry is the creation and the lifetime', () => {
    const ExpirationTTL = 2 * NS_PER_HOUR;
    expect(tokenOf(tokenWrite(given({ ExpirationTTL }), context()))).toMatchObject({
      ExpirationTTL,
      ExpirationTime: '2026-01-01T02:00:00.000Z',
    });
  });

  it('OP-151: what is wrong with it stands in one frame', () => {
    expect(() => tokenWrite(given({ Policies: null, Name: 'x'.repeat(257) }), context())).toThrow(
      'token 0 invalid: 2 errors occurred:\n\t* token name too long\n\t* client token missing policies or roles\n\n',
    );
  });

  it('AU-227, OP-151: a life outside of the limits of the server is refused', () => {
    const living = (ExpirationTTL: number) => () => tokenWrite(given({ ExpirationTTL }), context());
    const frame = (text: string) => `token 0 invalid: 1 error occurred:\n\t* ${text}\n\n`;
    const { minTtlNs, maxTtlNs } = context().limits;
    expect(living(minTtlNs - 1_000_000_000)).toThrow(
      frame('expiration time cannot be less than 1m0s in the future (was 59s)'),
    );
    expect(living(maxTtlNs + 1_000_000_000)).toThrow(
      frame('expiration time cannot be more than 24h0m0s in the future (was 24h0m1s)'),
    );
    for (const ttl of [minTtlNs, maxTtlNs]) expect(living(ttl)).not.toThrow();
  });

  it('OP-152: roles are stored by their ID, each once; one that does not exist is refused', () => {
    const Roles = [
      { ID: ROLE.ID, Name: '' },
      { ID: '', Name: 'team' },
    ];
    expect(tokenOf(tokenWrite(given({ Roles, Policies: ['a', 'a'] }), context()))).toMatchObject({
      Roles: [ROLE],
      Policies: ['a'],
    });
    const unknown = (role: object) => () => tokenWrite(given({ Roles: [{ ID: '', Name: '', ...role }] }), context());
    expect(unknown({ Name: 'none' })).toThrow('cannot find role none');
    expect(unknown({ ID: 'none' })).toThrow('cannot find role none');
  });
});

it('OP-150: a change names no secret, and what is fixed may not be given another value', () => {
  const stored = fixtures.aToken({ AccessorID: ACCESSOR });
  const update = (over: Partial<GivenToken>) =>
    tokenWrite(given({ AccessorID: ACCESSOR, SecretID: SECRET, ...over }), context({ stored }));
  expect(tokenOf(update({ Name: 'new' }))).toMatchObject({
    AccessorID: ACCESSOR,
    Name: 'new',
    SecretHash: '',
    SealedSecret: '',
    CreateTime: stored.CreateTime,
  });
  expect(() => update({ Global: true })).toThrow(
    'token 0 invalid: 1 error occurred:\n\t* cannot toggle global mode\n\n',
  );
});

describe('bootstrap', () => {
  const decide = (secret: string, doneIndex = 0, resetIndex = 0) =>
    bootstrapOf(secret, { ...context(), doneIndex, resetIndex });

  it('OP-143: a management token for all regions, with the secret that was asked for', () => {
    const { Token, ResetIndex } = decide(SECRET).payload;
    expect(Token).toMatchObject({ Name: 'Bootstrap Token', Type: 'management', Global: true });
    expect([Token.SecretHash, ResetIndex]).toEqual([SECRETS.hash(SECRET), 0]);
    expect(() => decide('secret')).toThrow('invalid acl token');
  });

  it('OP-144, OP-145: a second one needs the number of the first, and names it', () => {
    expect(() => decide('', 12)).toThrow('ACL bootstrap already done (reset index: 12)');
    expect(() => decide('', 12, 11)).toThrow('Invalid bootstrap reset index (specified 11, reset index: 12)');
    expect(decide('', 12, 12).payload.ResetIndex).toBe(12);
    expect(decide('', 0, 12).payload.ResetIndex).toBe(0);
  });
});

describe('policies and roles', () => {
  const policy = { Name: 'a', Description: '', Rules: 'namespace "a" { policy = "read" }', JobACL: null };

  it('OP-161, OP-130: rules are parsed when they are written, and what is wrong stands in the frame', () => {
    expect(policyWrite(policy, 'a').payload.Policies).toEqual([policy]);
    expect(() => policyWrite(policy, 'b')).toThrow('ACL policy name does not match request path');
    expect(() => policyWrite({ ...policy, Rules: 'namespace "a" {' }, 'a')).toThrow(
      /^policy 0 invalid: 1 error occurred:\n\t\* failed to parse rules: /,
    );
  });

  it('OP-165: texts of what is refused', () => {
    const role = { ID: '', Name: 'team', Description: '', Policies: [{ Name: 'a' }, { Name: 'a' }] };
    const stored = fixtures.aRole({ ID: ROLE.ID });
    const none = { pathId: undefined, stored: undefined, namesake: undefined, policies: ['a'], newUuid: () => 'new' };
    expect(roleWrite(role, none).payload).toEqual({
      Roles: [{ ...role, ID: 'new', Policies: [{ Name: 'a' }] }],
      MustExist: false,
    });
    const update = { ...role, ID: ROLE.ID };
    expect(roleWrite(update, { ...none, stored, namesake: stored, pathId: ROLE.ID }).payload.MustExist).toBe(true);
    expect(() => roleWrite(update, { ...none, pathId: 'x' })).toThrow('ACL role ID does not match request path');
    expect(() => roleWrite(update, none)).toThrow(`cannot find role ${ROLE.ID}`);
    expect(() => roleWrite({ ...role, Policies: [] }, none)).toThrow(
      'role 0 invalid: 1 error occurred:\n\t* at least one policy should be specified\n\n',
    );
    expect(() => roleWrite(role, { ...none, policies: [] })).toThrow('cannot find policy a');
    expect(() => roleWrite(role, { ...none, namesake: stored })).toThrow('role with name team already exists');
  });
});

it('no secret is in a transaction, a row, an event, an archive or the history', () => {
  const machine = new StateMachine();
  const texts: string[] = [];
  const apply = <T extends TxnType>(type: T, payload: TxnPayloads[T]): void => {
    const txn = fixtures.aTxn(machine.appliedIndex + 1, type, payload);
    const applied = machine.apply(txn);
    expect(applied.verdict.kind).toBe('accepted');
    texts.push(JSON.stringify(txn), JSON.stringify(eventsOf(applied)), JSON.stringify(applied.changes));
    texts.push(JSON.stringify(objectChanges(applied).map(({ text, undo }) => ({ text, undo }))));
  };
  const made: string[] = [];
  const newUuid = () => {
    const id = fixtures.freshId();
    made.push(id);
    return id;
  };
  apply('Initialise', {});
  apply('ACLTokenBootstrap', bootstrapOf('', { ...context({ newUuid }), doneIndex: 0, resetIndex: 0 }).payload);
  apply('ACLTokenUpsert', tokenWrite(given(), context({ newUuid })).payload);
  apply('ACLTokenUpsert', tokenWrite(given({ AccessorID: ACCESSOR, SecretID: SECRET }), context({ newUuid })).payload);
  const oneTime = newUuid();
  const OneTimeSecretHash = SECRETS.hash(oneTime);
  apply('OneTimeTokenUpsert', {
    Token: { AccessorID: ACCESSOR, OneTimeSecretHash, ExpiresAt: '2100-01-01T00:00:00.000Z' },
  });
  texts.push([...archiveLines(machine.tables)].join('\n'));
  apply('OneTimeTokenDelete', { OneTimeSecretHash });
  apply('ACLTokenDelete', { AccessorIDs: [ACCESSOR] });
  const accessors = new Set(texts.flatMap((text) => made.filter((id) => text.includes(`"AccessorID":"${id}"`))));
  const secrets = [SECRET, ...made.filter((id) => !accessors.has(id))];
  expect(secrets).toHaveLength(4);
  for (const secret of secrets) for (const text of texts) expect(text).not.toContain(secret);
});
