import { describe, expect, it } from 'vitest';
import { explainFailure } from './explain-failure.js';
import { DiskFullError, PortTakenError, ServerFailedError } from './failures.js';

const run = {
  server: 'postgres',
  port: 5433,
  dir: '/data',
  logFile: '/data/postgres.log',
  ending: 'exited with code 1',
};

describe('explainFailure', () => {
  it.each([
    'PANIC:  could not write to file "pg_wal/xlogtemp.9": No space left on device',
    '[7] 2026/01/02 03:04:05.678901 [ERR] JetStream failed to store a msg: write blk: no space left on device',
  ])('names a full disk: %s', (output) => {
    expect(explainFailure({ ...run, output })).toEqual(new DiskFullError('/data'));
  });

  it.each([
    'LOG:  could not bind IPv4 address "127.0.0.1": Address already in use',
    '[FTL] Error listening on port: 127.0.0.1:4222, "listen tcp 127.0.0.1:4222: bind: address already in use"',
  ])('names a taken port: %s', (output) => {
    expect(explainFailure({ ...run, output })).toEqual(new PortTakenError(5433, 'postgres'));
  });

  it('says in one line how it ended and what it complained of, without the prefix', () => {
    const output =
      '2026-01-02 03:04:05.678 UTC [77] LOG:  starting\n2026-01-02 03:04:05.678 UTC [77] FATAL:  bad setting\n';
    expect(explainFailure({ ...run, output }).message).toBe(
      'postgres failed: exited with code 1: FATAL:  bad setting (log: /data/postgres.log)',
    );
  });

  it('drops what a service of ours puts before its complaint', () => {
    const output = '02:03:54.533 error projector   the service cannot go on error=no NATS\n';
    expect(explainFailure({ ...run, server: 'projector', output }).message).toContain(
      'exited with code 1: the service cannot go on error=no NATS (log',
    );
  });

  it('takes its last word for the reason, not what went wrong long before', () => {
    const output =
      '02:03:54.533 error nodes   a call failed error=no\n02:09:54.533 error nodes   the service cannot go on error=no log\n';
    expect(explainFailure({ ...run, server: 'nodes', output }).message).toContain(
      'the service cannot go on error=no log',
    );
  });

  it.each(['killed by signal 9', 'its watcher was killed'])('%s: had nothing to say about it', (ending) => {
    const output = '02:03:54.533 error nodes   a call failed error=no\n';
    expect(explainFailure({ ...run, ending, output }).message).toBe(
      `postgres failed: ${ending} (log: /data/postgres.log)`,
    );
  });

  it('says how it ended when it left no word', () => {
    expect(explainFailure({ ...run, output: '\n' }).message).toBe(
      'postgres failed: exited with code 1 (log: /data/postgres.log)',
    );
  });

  it('marks a predecessor that is still ending as worth another try', () => {
    const output = 'FATAL:  pre-existing shared memory block (key 1, ID 2) is still in use';
    const failure = explainFailure({ ...run, output });
    expect(failure).toBeInstanceOf(ServerFailedError);
    expect(failure).toMatchObject({ transient: true });
  });
});
