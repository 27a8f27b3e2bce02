import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { SeededRandom } from '../sim/kernel/seeded-random.js';
import { CONTROL_PLANE, type ServiceName, WaybillProcesses } from '../support/waybill-processes.js';
import { Adversary, type Member, type PowerCuts } from './adversary.js';
import { linesOf, livingOf } from './diary.js';
import type { FinalJob, FinalState, History, TaskLine } from './history.js';
import { type Finding, judge } from './judge.js';
import { readLog } from './read-log.js';
import { countLost } from './losses.js';
import { markOf, TEMPLATE, Users } from './users.js';
import { canSetClocks, SettableClock } from '../support/set-clock.js';

const USERS = 4;
/** How long everything may take to come to rest once nothing is broken any more; evaluations in hand wait for 60 s. */
const REST_MS = 120_000;
const LOOK_MS = 500;
const VERIFY = fileURLToPath(new URL('../../apps/verify/dist/main.js', import.meta.url));

export interface ChaosOptions {
  readonly seed: number;
  readonly forMs: number;
  /** Clocks of single processes are set too. @throws where libfaketime is not installed */
  readonly clocks?: boolean;
  readonly say: (line: string) => void;
  readonly signal?: AbortSignal;
  /** The adversary cuts power too. */
  readonly powerCuts?: Pick<PowerCuts, 'syncInterval' | 'share'> | undefined;
  /** Ends with so many power cuts, if they are sooner than `forMs`. */
  readonly untilCuts?: number;
  /** All services but the API in one process, which is not killed: they start anew in it sooner, for many cuts. */
  readonly together?: boolean;
}

export interface ChaosReport {
  readonly seed: number;
  readonly kills: number;
  readonly freezes: number;
  /** Clocks that were set, or ran too fast or slow. */
  readonly clocks: number;
  readonly cuts: number;
  /** Of the cuts those after which an operator had to decide. */
  readonly decided: number;
  /** Acknowledged and taken by a cut, as the sync setting allows. */
  readonly lostInCuts: number;
  /** Transactions that Waybill said are lost, also those that no user asked for. */
  readonly named: number;
  readonly writes: number;
  readonly acknowledged: number;
  readonly reads: number;
  readonly tasksBegun: number;
  /** Until everything had come to rest, after the last fault. */
  readonly restedAfterMs: number;
  readonly findings: readonly Finding[];
  /** What `verify` says of log and state. */
  readonly verified: boolean;
  readonly verification: string;
}

/**
 * A whole Waybill of real processes, two of each service and two agents, on a real nats-server and a real PostgreSQL; users
 * who write and read, and an adversary; then rest, and judgement from outside.
 * @throws when it does not come to rest, or something cannot be started
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { seed, forMs, clocks = false, say, signal, untilCuts = Infinity } = options;
  const random = new SeededRandom(String(seed));
  if (clocks && !canSetClocks) throw new Error('clocks cannot be set here: install libfaketime (Debian)');
  const stack = options.powerCuts && { syncInterval: options.powerCuts.syncInterval };
  const waybill = options.together
    ? await WaybillProcesses.startTogether({}, [...CONTROL_PLANE], ['api'], { ...stack })
    : await WaybillProcesses.start({}, [], { ...stack });
  try {
    const members = await twoOfEach(waybill, clocks, options.together ? [] : CONTROL_PLANE);
    if (options.together) members.set('api', { service: 'api' });
    const diary = { file: path.join(waybill.dir, 'diary') };
    const users = new Users(waybill.api, diary, () => random.next());
    await users.begin(USERS);
    const powerCuts: PowerCuts | undefined = options.powerCuts && {
      ...options.powerCuts,
      linesWritten: () => (existsSync(diary.file) ? readDiary(diary.file).length : 0),
    };
    const adversary = new Adversary(waybill, members, () => random.next(), say, powerCuts);
    const enough = new AbortController();
    adversary.onCut = (cuts) => cuts >= untilCuts && enough.abort();
    const ends = AbortSignal.any([enough.signal, ...(signal ? [signal] : [])]);
    adversary.begin();
    await Promise.race([delay(forMs, undefined, { signal: ends }).catch(() => undefined), adversary.work]);
    await adversary.stop();
    await users.stop();
    const endedAt = performance.now();
    say('everything runs again; waiting for rest');
    const { writes, reads, dispatches } = users;
    const { cuts } = adversary;
    const history: History = { writes, reads, dispatches, cuts, lines: [] };
    const { final, lines } = await atRest(waybill, diary.file, history);
    const restedAfterMs = performance.now() - endedAt;
    const { ok, text } = await verify(waybill);
    return {
      seed,
      kills: adversary.kills,
      freezes: adversary.freezes,
      clocks: adversary.clocks,
      cuts: cuts.length,
      decided: cuts.filter(({ adoptions }) => adoptions > 0).length,
      lostInCuts: countLost(history, final),
      named: cuts.reduce((sum, { named }) => sum + named.length, 0),
      writes: users.writes.length + users.dispatches.length,
      acknowledged: users.writes.filter(({ ending }) => ending === 'acknowledged').length + users.dispatches.length,
      reads: users.reads.length,
      tasksBegun: lines.filter(({ what }) => what === 'begun').length,
      restedAfterMs,
      findings: judge({ ...history, lines }, final),
      verified: ok,
      verification: text,
    };
  } finally {
    await waybill.stop();
  }
}

async function twoOfEach(
  waybill: WaybillProcesses,
  clocks: boolean,
  services: readonly ServiceName[],
): Promise<Map<string, Member>> {
  const members = new Map<string, Member>();
  const add = (name: string, service: Member['service'], env: NodeJS.ProcessEnv = {}): void => {
    const clock = clocks ? new SettableClock(path.join(waybill.dir, `${name}.clock`)) : undefined;
    members.set(name, { service, env: { ...env, ...clock?.env }, ...(clock && { clock }) });
  };
  for (const service of services) {
    add(service, service);
    if (service !== 'api') add(`${service}-2`, service); // one address is asked
  }
  add('agent', 'agent');
  add('agent-2', 'agent', { WAYBILL_AGENT_DIR: `${waybill.dir}/agent-2`, WAYBILL_NODE_NAME: 'test-node-2' });
  const start = (names: readonly string[]): Promise<unknown> =>
    Promise.all(
      [...members].flatMap(([name, { service, env }]) =>
        names.includes(name) ? [waybill.startService(service, name, env)] : [],
      ),
    );
  const second = [...members.keys()].filter((name) => name.endsWith('-2'));
  await start([...members.keys()].filter((name) => !second.includes(name)));
  for (const name of second) await start([name]);
  return members;
}

/** The end, once there is nothing to find in it any more, or as it is when the time for that is over. */
async function atRest(
  waybill: WaybillProcesses,
  diary: string,
  history: History,
): Promise<{ final: FinalState; lines: readonly TaskLine[] }> {
  for (const deadline = performance.now() + REST_MS; ;) {
    try {
      const lines = readDiary(diary);
      const final = await finalState(waybill, lines);
      if (judge({ ...history, lines }, final).length === 0 || performance.now() > deadline) return { final, lines };
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await delay(LOOK_MS);
  }
}

interface StoredJob {
  readonly ID: string;
  readonly Stop: boolean;
  readonly Type: string;
  readonly ParentID: string;
  readonly DispatchIdempotencyToken?: string;
  readonly Meta: { readonly mark?: string } | null;
  readonly TaskGroups: readonly { readonly Count: number }[];
}

interface AllocStub {
  readonly ID: string;
  readonly DesiredStatus: string;
  readonly ClientStatus: string;
  readonly TaskStates: Readonly<
    Record<string, { readonly Failed: boolean; readonly Events: readonly { readonly DisplayMessage: string }[] }>
  > | null;
}

/** What the events of its failed tasks say. */
const failureOf = ({ TaskStates }: AllocStub): string =>
  Object.entries(TaskStates ?? {})
    .filter(([, { Failed }]) => Failed)
    .map(([task, { Events }]) => `${task}: ${Events.map(({ DisplayMessage }) => DisplayMessage).join(', ')}`)
    .join('; ') || 'no task failed';

async function finalState({ api, stack }: WaybillProcesses, lines: readonly TaskLine[]): Promise<FinalState> {
  const log = await readLog(stack.natsUrl);
  const listed = await api.get<{ ID: string }[]>('/v1/jobs');
  const children: Record<string, string[]> = {};
  const jobs: FinalJob[] = [];
  for (const { ID } of listed) {
    const job = await api.get<StoredJob>(`/v1/job/${encodeURIComponent(ID)}`);
    if (job.ParentID === TEMPLATE) (children[job.DispatchIdempotencyToken ?? ''] ??= []).push(ID);
    const allocs = await api.get<AllocStub[]>(`/v1/job/${encodeURIComponent(ID)}/allocations`);
    jobs.push({
      id: ID,
      mark: markOf(job),
      stopped: job.Stop,
      isBatch: job.Type === 'batch',
      count: ID === TEMPLATE ? 0 : (job.TaskGroups[0]?.Count ?? 0), // only its children run
      allocs: allocs.map((one) => ({
        id: one.ID,
        desired: one.DesiredStatus,
        client: one.ClientStatus,
        wasGivenUp: log.givenUp.has(one.ID),
        ...(one.ClientStatus === 'failed' && { failure: failureOf(one) }),
      })),
    });
  }
  const living = livingOf(lines, isSleeping);
  return { jobs, children, living, logged: log.jobs };
}

const readDiary = (file: string): TaskLine[] => linesOf(readFileSync(file, 'utf8'));

function isSleeping(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('sleep\x00100000');
  } catch {
    return false;
  }
}

async function verify({ stack }: WaybillProcesses): Promise<{ ok: boolean; text: string }> {
  const env = { ...process.env, WAYBILL_NATS_URL: stack.natsUrl, WAYBILL_DATABASE_URL: stack.databaseUrl };
  const run = promisify(execFile);
  const texts: string[] = [];
  let ok = true;
  for (const what of ['log', 'state']) {
    const { stdout, failed } = await run(process.execPath, [VERIFY, what], { env }).then(
      (done) => ({ ...done, failed: false }),
      (error: Error & { stdout?: string; stderr?: string }) => ({
        stdout: `${error.stdout}${error.stderr}`,
        failed: true,
      }),
    );
    ok &&= !failed;
    texts.push(stdout.trim());
  }
  return { ok, text: texts.join('\n') };
}
