import { describe, expect, it } from 'vitest';
import { parseCommandLine } from '../command-line.js';
import { command as roleUpdate } from '../commands/acl-role-update.js';
import { command as tokenUpdate } from '../commands/acl-token-update.js';
import { mergedRole, mustChangeRole, wholeRole } from './role-flags.js';
import { tokenMembers } from './token-flags.js';

const ofToken = (...words: string[]) => tokenMembers(parseCommandLine(tokenUpdate, 'acl token update', words).flags);
const roleFlags = (...words: string[]) => parseCommandLine(roleUpdate, 'acl role update', words).flags;

describe('flags of a token', () => {
  it('AU-303: what is not given is not sent', () => {
    expect(ofToken('acc')).toEqual({});
    expect(ofToken('-name=ci', '-global', 'acc')).toEqual({ Name: 'ci', Global: true });
  });

  it('AU-303: policies and roles replace, and an empty one takes all away', () => {
    expect(ofToken('-policy=a', '-policy=b', 'acc')).toEqual({ Policies: ['a', 'b'] });
    expect(ofToken('-policy=', 'acc')).toEqual({ Policies: [] });
    expect(ofToken('-role-id=1', '-role-name=ops', 'acc')).toEqual({ Roles: [{ ID: '1' }, { Name: 'ops' }] });
    expect(ofToken('-role-name=', 'acc')).toEqual({ Roles: [] });
  });
});

describe('flags of a role', () => {
  const stored = { Name: 'ops', Description: 'on call', Policies: [{ Name: 'readers' }] };

  it('AU-301: an update adds policies, each once, and replaces the rest', () => {
    expect(mergedRole(roleFlags('-policy=drainers', '-policy=readers', 'id'), stored)).toEqual({
      ...stored,
      Policies: [{ Name: 'readers' }, { Name: 'drainers' }],
    });
    expect(mergedRole(roleFlags('-name=night', 'id'), stored)).toEqual({ ...stored, Name: 'night' });
  });

  it('AU-301: a whole role needs a name and a policy', () => {
    expect(() => wholeRole(roleFlags('-policy=a', 'id'))).toThrow('using the -name flag');
    expect(() => wholeRole(roleFlags('-name=a', 'id'))).toThrow('using the -policy flag');
    expect(wholeRole(roleFlags('-name=a', '-policy=b', 'id'))).toEqual({
      Name: 'a',
      Description: '',
      Policies: [{ Name: 'b' }],
    });
  });

  it('AU-301: an update without anything to change is refused', () => {
    expect(() => mustChangeRole(roleFlags('id'))).toThrow('at least one flag');
    expect(() => mustChangeRole(roleFlags('-description=x', 'id'))).not.toThrow();
  });
});
