import { describe, expect, it } from 'vitest';
import { extraClaimsOf, extraClaimWarnings } from '../namespaces/extra-claims.js';
import { decodeJob } from '../jobs/decode-job.js';
import { withImplicitConstraints } from '../canonical/implicit-constraints.js';
import { NS_PER_HOUR, NS_PER_SECOND } from '../time/clock.js';
import { validateJob } from './validate-job.js';

function jobOf(identities: readonly object[], task: object = {}) {
  const Tasks = [{ Name: 'main', Driver: 'raw_exec', Identities: identities, ...task }];
  return decodeJob({ ID: 'web', TaskGroups: [{ Name: 'app', Tasks }] });
}
const errorsOf = (...identities: object[]): string => validateJob(jobOf(identities)).errors.join('');
const warningsOf = (...identities: object[]): string => validateJob(jobOf(identities)).warnings.join('');
const SOUND = { Name: 'aws', Audience: ['sts'], TTL: NS_PER_HOUR };
const named = (fields: object): object => ({ ...SOUND, ...fields });

describe('identities of a task', () => {
  it.each<[string, object, string]>([
    ['a name', { Name: 'a.b' }, 'invalid name "a.b". Must match regex ^[a-zA-Z0-9-_]{1,128}$'],
    ['a long name', { Name: 'a'.repeat(129) }, 'Must match regex ^[a-zA-Z0-9-_]{1,128}$'],
    ['an audience', { Audience: ['a', ''] }, 'an empty string is an invalid audience (2)'],
    ['a signal', { ChangeSignal: 'sighup' }, 'can only use change_signal="SIGHUP" with change_mode="signal"'],
    ['no signal', { ChangeMode: 'signal' }, 'change_signal must be specified when using change_mode="signal"'],
    ['a mode', { ChangeMode: 'script' }, 'invalid change_mode: script'],
    ['a TTL', { TTL: -1 }, 'ttl must be >= 0'],
    ['a path without a file', { Filepath: 'a' }, 'file parameter must be true in order to specify filepath'],
  ])('AU-122: %s is refused', (_, fields, text) => {
    const said = errorsOf(named(fields));
    expect(said).toMatch(/Identity ".*" is invalid: 1 error occurred:\n\t\* /);
    expect(said).toContain(text);
  });

  it('AU-122: the default identity is looked at too, and names are used once', () => {
    expect(errorsOf({ TTL: 1 })).toContain(
      'Identity "default" is invalid: 1 error occurred:\n\t* ttl for default identity not yet supported',
    );
    expect(errorsOf({ Name: 'default' }, {})).toContain('Duplicate default identities found');
    expect(errorsOf(SOUND, SOUND, SOUND).match(/Identity "aws" defined multiple times/g)).toHaveLength(1);
  });

  it.each(['', 'noop', 'restart'])('AU-122: change mode "%s" is allowed and kept', (ChangeMode) => {
    expect(errorsOf(named({ ChangeMode }))).toBe('');
    expect(jobOf([named({ ChangeMode })]).TaskGroups[0]!.Tasks[0]!.Identities![0]!.ChangeMode).toBe(ChangeMode);
  });

  it.each(['../../x', '/etc/x', '..', 'a/../..', '.', 'a/..'])(
    'AU-123: the path %s leaves the directory',
    (Filepath) => {
      expect(errorsOf(named({ File: true, Filepath }))).toContain(
        'Identity "aws" is invalid: filepath escapes the task directory',
      );
    },
  );

  it.each(['secrets/x', 'local/../x', './a/b'])('AU-123: the path %s stays in the directory', (Filepath) => {
    expect(errorsOf(named({ File: true, Filepath }))).toBe('');
  });

  it.each<[object, string]>([
    [{ Audience: [] }, 'identities without an audience are insecure'],
    [{ Audience: ['a', 'b'] }, 'while multiple audiences is allowed, it is more secure to use 1 audience per identity'],
    [{ TTL: 0 }, 'identities without an expiration are insecure'],
    [{ Env: true }, 'using env=true without change_mode="restart" may result in task not getting updated identity'],
    [{ TTL: 19 * NS_PER_SECOND }, 'a ttl below 20s ends before the token is renewed'],
  ])('AU-124, AU-327: %j is warned of', (fields, text) => {
    expect(warningsOf(named(fields))).toContain(`Identity[aws] ${text}`);
  });

  it('AU-124, AU-184: a sound identity and the default one warn of nothing; a long TTL may outlive its key', () => {
    expect(warningsOf(SOUND, { Env: true })).toBe('');
    expect(warningsOf(named({ TTL: 721 * NS_PER_HOUR }))).toBe('');
    expect(warningsOf(named({ TTL: 722 * NS_PER_HOUR }))).toContain('identity "aws" may outlive its signing key');
  });

  it('AU-125: a node must be able to send the signals of all identities', () => {
    const signal = (Name: string, ChangeSignal: string) => ({ Name, ChangeMode: 'signal', ChangeSignal });
    const job = withImplicitConstraints(jobOf([signal('aws', 'sigusr1'), signal('', 'sighup')]));
    expect(job.TaskGroups[0]!.Constraints).toContainEqual({
      LTarget: '${attr.os.signals}',
      RTarget: 'SIGHUP,SIGUSR1',
      Operand: 'set_contains',
    });
  });
});

it('AU-128: the identity of a service needs an audience', () => {
  const errorsWith = (Audience: readonly string[] | null) => {
    const Services = [{ Name: 'a', Provider: 'nomad', Identity: { Audience } }];
    return validateJob(jobOf([], { Services })).errors.join('');
  };
  const missing = 'Service identity must provide at least one target aud value';
  for (const none of [null, []]) expect(errorsWith(none)).toContain(missing);
  expect(errorsWith(['consul.io'])).not.toContain(missing);
});

describe('the identity of a service that a task receives as a file', () => {
  const FILE = { Audience: ['consul.io'], File: true };
  const errorsWith = (...Services: object[]): string => validateJob(jobOf([], { Services })).errors.join('');
  const service = (Identity: object, over: object = {}) => ({ Name: 'a', Provider: 'nomad', Identity, ...over });

  it.each<[object, string]>([
    [{ Name: 'a.b' }, 'Identity "a.b" is invalid: 1 error occurred:\n\t* invalid name "a.b"'],
    [{ Filepath: '../x' }, 'Identity "" is invalid: filepath escapes the task directory'],
    [{ ChangeMode: 'script' }, 'invalid change_mode: script'],
    [{ TTL: -1 }, 'ttl must be >= 0'],
  ])('AU-122, AU-123: %j is refused, and without a file it is not looked at', (fields, text) => {
    const said = errorsWith(service({ ...FILE, ...fields }));
    expect(said.replaceAll(/\n\s*/g, '\n\t')).toContain(text);
    expect(errorsWith(service({ ...FILE, ...fields, File: false, Filepath: '' }))).toBe('');
  });

  it('AU-128: has a lifetime and no name, and belongs to a service whose name no other one of its task has', () => {
    expect(errorsWith(service({ ...FILE, TTL: NS_PER_HOUR }))).toBe('');
    const [http, admin] = [
      { PortLabel: '80', AddressMode: 'host' },
      { PortLabel: '81', AddressMode: 'host' },
    ];
    expect(errorsWith(service(FILE, http), service({ ...FILE, Name: 'other' }, admin))).not.toContain('Identity');
    expect(errorsWith(service(FILE, http), service(FILE, admin))).toContain(
      'Identity "" of service "a" in task "main" defined multiple times',
    );
  });

  it('AU-128: a service of a group warns if its file has no task', () => {
    const warningsWith = (TaskName: string) => {
      const Tasks = [{ Name: 'main', Driver: 'raw_exec' }];
      const Services = [service(FILE, { TaskName })];
      return validateJob(decodeJob({ ID: 'web', TaskGroups: [{ Name: 'app', Tasks, Services }] })).warnings.join('');
    };
    expect(warningsWith('main')).not.toContain('Service');
    for (const none of ['', 'gone']) expect(warningsWith(none)).toContain('Service "a": no task receives the file');
  });

  it('AU-125: a node must be able to send its signal', () => {
    const Identity = { ...FILE, ChangeMode: 'signal', ChangeSignal: 'sigusr2' };
    const constraints = (File: boolean) =>
      withImplicitConstraints(jobOf([], { Services: [service({ ...Identity, File })] })).TaskGroups[0]!.Constraints;
    const signals = expect.objectContaining({ RTarget: 'SIGUSR2', LTarget: '${attr.os.signals}' }) as object;
    expect(constraints(true)).toContainEqual(signals);
    expect(constraints(false)).not.toContainEqual(signals);
  });
});

describe('extra claims of a namespace', () => {
  const namespace = { RequiredExtraClaims: { org: 'acme' }, OptionalExtraClaims: { team: 'a', org: 'b', cost: 'c' } };

  it('AU-126: an identity gets all required ones, and the optional ones that it asks for', () => {
    expect(extraClaimsOf({ ExtraClaims: ['team', 'none'] }, namespace)).toEqual({ org: 'acme', team: 'a' });
    expect(extraClaimsOf({ ExtraClaims: null }, namespace)).toEqual({ org: 'acme' });
    expect(extraClaimsOf({ ExtraClaims: ['team'] }, { RequiredExtraClaims: null, OptionalExtraClaims: null })).toEqual(
      {},
    );
  });

  it('AU-126: what the namespace does not offer is warned of, for tasks and services', () => {
    const Identity = { Audience: ['a'], ExtraClaims: ['none'] };
    const Services = [{ Name: 'a', Provider: 'nomad', Identity }];
    const job = jobOf([named({ ExtraClaims: ['team', 'x', 'y'] })], { Services });
    expect(extraClaimWarnings(job, namespace)).toEqual([
      'identity "aws" asks for extra claims the namespace does not offer: [x y]',
      'identity "" asks for extra claims the namespace does not offer: [none]',
    ]);
  });
});
