#!/usr/bin/env node
import { errorText } from '@waybill/model';
import { parseArgs } from 'node:util';
import { StateMachine } from '@waybill/state';
import { LogReader, PENDING_LIMIT_MS } from './log-check.js';
import { readLog } from './log.transport.js';
import { readProjection } from './projection.store.js';
import { compareProjections } from './projection-comparison.js';
import { digestProjection, digestRebuilt } from './rebuilt-projection.store.js';
import { logReportText, projectionReportText, stateReportText } from './report.js';
import { reachServers, type Servers } from './servers.store.js';
import { compareStates } from './state-comparison.js';

const USAGE = `usage: npm run verify -- log [--json] [--ended] [--data-dir DIR]
       npm run verify -- state [--rebuild] [--json] [--data-dir DIR]

  log      reads the log from its first transaction and checks that the invariants held at every index
  state    compares the state that the log makes with the rows in Postgres, table by table
           (--rebuild: with a projection made anew from the first transaction, every table, bit for bit)

  --json      the report as one line of JSON
  --ended     the run is over: no evaluation that is due may be pending (else: for ${PENDING_LIMIT_MS / 60_000} minutes)
  --data-dir  data directory of npm start (default .waybill), for what WAYBILL_NATS_URL and WAYBILL_DATABASE_URL do not name

exit code: 0 all holds, 1 something does not, 2 it could not be checked
`;

/** Not 1, which says that something is wrong with the log. */
const COULD_NOT_CHECK = 2;

interface Options {
  readonly json: boolean;
  readonly ended: boolean;
}

async function verifyLog({ natsUrl, natsCredentials }: Servers, { json, ended }: Options): Promise<boolean> {
  const reader = new LogReader(ended ? { pendingLimitMs: 0 } : {});
  await readLog({ natsUrl, natsCredentials }, (txn) => reader.checkTransaction(txn));
  const report = reader.finish();
  process.stdout.write(json ? `${JSON.stringify(report)}\n` : logReportText(report));
  return report.ok;
}

async function verifyState({ natsUrl, natsCredentials, databaseUrl }: Servers, { json }: Options): Promise<boolean> {
  const { machine: projected, setAside } = await readProjection(databaseUrl ?? '');
  const machine = new StateMachine();
  await readLog({ natsUrl, natsCredentials, until: projected.appliedIndex }, (txn) => machine.apply(txn));
  const report = compareStates(machine, projected, setAside);
  process.stdout.write(json ? `${JSON.stringify(report)}\n` : stateReportText(report));
  return report.ok;
}

async function verifyRebuilt(
  { natsUrl, natsCredentials, databaseUrl = '' }: Servers,
  { json }: Options,
): Promise<boolean> {
  const running = await digestProjection(databaseUrl);
  const { index: until, historyFloor } = running;
  const report = compareProjections(
    running,
    await digestRebuilt({ natsUrl, natsCredentials, databaseUrl, until, historyFloor }),
  );
  process.stdout.write(json ? `${JSON.stringify(report)}\n` : projectionReportText(report));
  return report.ok;
}

function commandLine() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: 'boolean', default: false },
      ended: { type: 'boolean', default: false },
      rebuild: { type: 'boolean', default: false },
      'data-dir': { type: 'string', default: '.waybill' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const [what = ''] = positionals;
  if (!values.help && what !== 'log' && what !== 'state')
    throw new Error(what ? `there is no "${what}" to verify` : 'verify what?');
  return { ...values, what };
}

async function main(): Promise<number> {
  let given;
  try {
    given = commandLine();
  } catch (error) {
    process.stderr.write(`${errorText(error)}\n\n${USAGE}`);
    return COULD_NOT_CHECK;
  }
  if (given.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  try {
    const servers = await reachServers({
      env: process.env,
      dataDir: given['data-dir'],
      database: given.what === 'state',
    });
    try {
      const check = given.what === 'log' ? verifyLog : given.rebuild ? verifyRebuilt : verifyState;
      return (await check(servers, given)) ? 0 : 1;
    } finally {
      await servers.close();
    }
  } catch (error) {
    process.stderr.write(`could not verify: ${errorText(error)}\n`);
    return COULD_NOT_CHECK;
  }
}

process.exitCode = await main();
