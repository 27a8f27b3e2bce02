import { describe, expect, it } from 'vitest';
import { roleLinks, tokenList, tokenTable, type Token } from './token-text.js';

const NOW = Date.parse('2026-11-27T12:00:00Z');
const token = (over: Partial<Token> = {}): Token => ({
  AccessorID: 'acc',
  SecretID: 'sec',
  Name: 'ci',
  Type: 'client',
  Policies: ['readers', 'writers'],
  Roles: null,
  Global: false,
  CreateTime: '2026-11-27T11:00:00Z',
  ExpirationTime: null,
  CreateIndex: 4,
  ModifyIndex: 5,
  ...over,
});

describe('a token as text', () => {
  it('CL-841: is expired from the moment of its expiry on, and never without one', () => {
    const expiring = (ms: number) => token({ ExpirationTime: new Date(NOW + ms).toISOString() });
    const lines = tokenTable([token(), expiring(0), expiring(1)], NOW).split('\n');
    expect(lines[0]).toMatch(/^Name +Type +Global +Accessor ID +Expired$/);
    expect(lines.slice(1).map((line) => line.split(/\s+/).at(-1))).toEqual(['false', 'true', 'false']);
  });

  it('CL-841: a management token has neither policies nor roles; a client token names its policies', () => {
    const management = tokenList(token({ Type: 'management', Policies: null }));
    expect(management).toMatch(/^Policies += n\/a$/m);
    expect(management).toMatch(/^Roles += n\/a$/m);
    expect(tokenList(token())).toMatch(/^Policies += \[readers writers\]$/m);
    expect(tokenList(token({ Policies: null }))).toMatch(/^Policies += \[\]$/m);
    expect(tokenList(token())).not.toContain('Roles');
  });

  it('CL-841: roles are listed with their IDs', () => {
    expect(roleLinks({ Roles: null })).toBe('<none>');
    expect(roleLinks({ Roles: [] })).toBe('<none>');
    expect(roleLinks({ Roles: [{ ID: 'r1', Name: 'ops' }] })).toMatch(/^ID +Name\nr1 +ops$/);
  });
});
