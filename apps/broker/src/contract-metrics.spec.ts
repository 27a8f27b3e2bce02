import { termOf } from '@waybill/roles';
import { SimulatedTime } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { fixtures } from '@waybill/state';
import { Metrics, silentLogger, tracerFor } from '@waybill/telemetry';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Broker } from './broker.js';
import { ContractMeter, exposeGauges, MAX_JOBS_SHOWN, MAX_WAITING_SHOWN, OTHER_JOBS } from './contract-metrics.js';
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
    expect(['a', 'a/dispatch-1-x', 'a/periodic-2', 'a/b', '/dispatch-1'].map(parentJob)).toEqual([
      'a',
      'a',
      'a',
      'a/b',
      '/dispatch-1',
    ]);
  });
});

describe('what a scrape shows', () => {
  const buckets = async (name: string): Promise<string[]> =>
    (await shown(`${name}_bucket`)).map((line) => /le="([^"]+)"/.exec(line)?.[1] ?? '');

  it('EB-321: waits in a few buckets, from milliseconds to a minute', async () => {
    new ContractMeter(metrics).observeEval('broker.wait_time', 1, fixtures.anEval());
    expect(await buckets('broker_wait_time')).toEqual(['0.005', '0.05', '0.5', '5', '60', '+Inf']);
  });

  it('EB-262: plans in flight as a number, times in seconds', async () => {
    const meter = new ContractMeter(metrics);
    for (const plans of [3, 4]) meter.observe('plan.outstanding_apply', plans);
    for (const ms of [500, 250]) meter.observe('plan.submit', ms);
    expect(await shown('plan_outstanding_apply_sum')).toEqual(['plan_outstanding_apply_sum{} 7']);
    expect(await buckets('plan_outstanding_apply')).toEqual(['0', '1', '2', '4', '8', '16', '+Inf']);
    expect(await shown('plan_submit_sum')).toEqual(['plan_submit_sum{} 0.75']);
  });

  it('EB-289: the score of each node that rejected plans, and how many', async () => {
    vi.spyOn(broker, 'rejectionScores').mockReturnValue(new Map([['node-1', 2]]));
    expect(await shown('plan_rejection_tracker_node_score')).toEqual([
      'plan_rejection_tracker_node_score{node_id="node-1"} 2',
    ]);
    const meter = new ContractMeter(metrics);
    for (const node of ['node-1', 'node-1']) meter.nodeRejected(node);
    expect(await shown('plan_node_rejected')).toEqual(['plan_node_rejected{node_id="node-1"} 2']);
  });

  it('EB-194: a thousand jobs with blocked evaluations, not more', async () => {
    const metric = { NodePool: 'default', NodesAvailable: {}, ResourcesExhausted: { web: { CPU: 5, MemoryMB: 7 } } };
    for (let i = 0; i <= 1_000; i++)
      broker.blocked.block(
        fixtures.anEval({ JobID: `job-${i}`, Status: 'blocked', FailedTGAllocs: { web: metric as never } }),
      );
    expect(await shown('blocked_evals_job_cpu')).toHaveLength(1_000);
    expect(await shown('blocked_evals_job_memory')).toHaveLength(1_000);
  });

  it('EB-38: a thousand delayed evaluations, not more', async () => {
    const WaitUntil = new Date(time.nowMs() + 9_000).toISOString();
    for (let i = 0; i <= MAX_WAITING_SHOWN; i++)
      broker.evals.enqueue(fixtures.anEval({ JobID: `job-${i}`, WaitUntil }));
    expect([MAX_WAITING_SHOWN, (await shown('broker_eval_waiting')).length]).toEqual([1_000, 1_000]);
  });
});

it('a scrape does not grow with the number of jobs: beyond a limit they are summed up', async () => {
  const meter = new ContractMeter(metrics);
  for (let i = 0; i < MAX_JOBS_SHOWN + 500; i++)
    meter.observeEval('broker.wait_time', 1, fixtures.anEval({ JobID: `job-${i}` }));
  meter.observeEval('broker.wait_time', 1, fixtures.anEval({ JobID: 'job-0' }));
  const counts = (await lines()).filter((line) => line.startsWith('waybill_nomad_broker_wait_time_count'));
  expect(counts).toHaveLength(MAX_JOBS_SHOWN + 1);
  expect(counts.find((line) => line.includes(OTHER_JOBS))).toMatch(/ 500$/);
  expect(counts.find((line) => line.includes('job="job-0"'))).toMatch(/ 2$/);
  expect(MAX_JOBS_SHOWN).toBe(100);
});
