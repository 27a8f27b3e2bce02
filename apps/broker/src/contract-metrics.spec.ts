import { termOf } from '@waybill/roles';
import { SimulatedTime } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { fixtures } from '@waybill/state';
import { Metrics, silentLogger, tracerFor } from '@waybill/telemetry';
import { beforeEach, describe, expect, it } from 'vitest';
import { Broker } from './broker.js';
import { ContractMeter, exposeGauges, MAX_JOBS_SHOWN, OTHER_JOBS } from './contract-metrics.js';
import { parentJob } from './meter.js';

let time: SimulatedTime;
let state: LocalState;
let broker: Broker;
let metrics: Metrics;

beforeEach(async () => {
  time = new SimulatedTime();
  state = new LocalState();
  metrics = new Metrics('broker');
  let ids = 0;
  broker = new Broker({
    state,
    clock: time,
    timers: time,
    newId: () => `id-${++ids}`,
    random: () => 0,
    logger: silentLogger,
    tracer: () => tracerFor('test'),
    region: 'global',
    meter: new ContractMeter(metrics),
    rejectionTracker: { enabled: true },
  });
  exposeGauges(metrics, broker);
  state.onApplied((applied) => broker.applied(applied));
  fixtures.apply(state.machine, 'Initialise', {});
  fixtures.apply(state.machine, 'LeaseAcquired', { Role: 'broker', Epoch: 1, Holder: 'test' });
  await broker.start(termOf('broker', 1, { barrierMs: 250 }));
});

const lines = async (): Promise<string[]> =>
  (await metrics.render()).split('\n').filter((line) => !line.startsWith('#'));
/** `name{labels} value` without the label every line has. */
const shown = async (name: string): Promise<string[]> =>
  (await lines())
    .filter((line) => line.startsWith(`waybill_nomad_${name}{`))
    .map((line) =>
      line
        .slice('waybill_nomad_'.length)
        .replace('service="broker",', '')
        .replace(/,?service="broker"/, ''),
    );

it('EB-124: a broker that is paused says so, one without the role does not', async () => {
  const paused = async () => (await lines()).filter((line) => line.startsWith('waybill_broker_paused'));
  expect(await paused()).toEqual(['waybill_broker_paused{service="broker"} 0']);
  const Config = { ...fixtures.aSchedulerConfiguration(), PauseEvalBroker: true };
  broker.applied(fixtures.apply(state.machine, 'SchedulerConfig', { Config, CAS: false, ModifyIndex: 0 }));
  expect(await paused()).toEqual(['waybill_broker_paused{service="broker"} 1']);
  await broker.stop();
  expect(await paused()).toEqual(['waybill_broker_paused{service="broker"} 0']);
});

describe('the figures of section 16', () => {
  it('EB-107: what is tracked, in total and per type', async () => {
    for (const JobID of ['a', 'a', 'b']) broker.evals.enqueue(fixtures.anEval({ JobID }));
    expect(await shown('broker_total_ready')).toEqual(['broker_total_ready{} 2']);
    expect(await shown('broker_total_pending')).toEqual(['broker_total_pending{} 1']);
    expect(await shown('broker_ready')).toEqual(['broker_ready{type="service"} 2']);
  });

  it('EB-109: of a broker without the role all are zero, and types and jobs disappear', async () => {
    broker.evals.enqueue(fixtures.anEval());
    await broker.stop();
    expect(await shown('broker_total_ready')).toEqual(['broker_total_ready{} 0']);
    expect(await shown('broker_ready')).toEqual([]);
  });

  it('EB-38: each evaluation that waits for a time, in seconds until it is due', async () => {
    const WaitUntil = new Date(time.nowMs() + 9_000).toISOString();
    const e = fixtures.anEval({ JobID: 'cron/periodic-17', WaitUntil });
    broker.evals.enqueue(e);
    expect(await shown('broker_eval_waiting')).toEqual([
      `broker_eval_waiting{eval_id="${e.ID}",job="cron",namespace="default"} 9`,
    ]);
  });

  it('EB-194: what blocked evaluations lack, by job and by place', async () => {
    const metric = {
      NodePool: 'default',
      NodesAvailable: { dc1: 1 },
      ResourcesExhausted: { web: { CPU: 5, MemoryMB: 7 } },
    };
    broker.blocked.block(fixtures.anEval({ Status: 'blocked', FailedTGAllocs: { web: metric as never } }));
    expect(await shown('blocked_evals_job_cpu')).toEqual(['blocked_evals_job_cpu{namespace="default",job="web"} 5']);
    expect(await shown('blocked_evals_memory')).toEqual([
      'blocked_evals_memory{datacenter="dc1",node_class="",node_pool="default"} 7',
    ]);
  });

  it('how long it took to catch up with the log, to take the role, and to give it up', async () => {
    expect(await shown('leader_barrier_sum')).toEqual(['leader_barrier_sum{} 0.25']);
    expect(await shown('leader_establish_leadership_count')).toEqual(['leader_establish_leadership_count{} 1']);
    expect(await shown('leader_revoke_leadership_count')).toEqual([]);
    await broker.stop();
    expect(await shown('leader_revoke_leadership_count')).toEqual(['leader_revoke_leadership_count{} 1']);
  });

  it('EB-321: times in seconds, labelled', async () => {
    new ContractMeter(metrics).observeEval('broker.wait_time', 1_500, fixtures.anEval());
    expect(await shown('broker_wait_time_sum')).toEqual([
      'broker_wait_time_sum{job="web",namespace="default",eval_type="service",triggered_by="job-register"} 1.5',
    ]);
  });

  it('children count as their parent', () => {
    expect(['a', 'a/dispatch-1-x', 'a/periodic-2', 'a/b'].map(parentJob)).toEqual(['a', 'a', 'a', 'a/b']);
  });
});

it('a scrape does not grow with the number of jobs: beyond a limit they are summed up', async () => {
  const meter = new ContractMeter(metrics);
  for (let i = 0; i < MAX_JOBS_SHOWN + 500; i++)
    meter.observeEval('broker.wait_time', 1, fixtures.anEval({ JobID: `job-${i}` }));
  const counts = (await lines()).filter((line) => line.startsWith('waybill_nomad_broker_wait_time_count'));
  expect(counts).toHaveLength(MAX_JOBS_SHOWN + 1);
  expect(counts.find((line) => line.includes(OTHER_JOBS))).toMatch(/ 500$/);
});
