// Bodies of the other writes of the API. The first line says which; the rest is the body.
import { readJsonBody } from '../../../apps/api/dist/http/body.js';
import * as query from '../../../apps/api/dist/http/query-string.js';
import { readParseRequest } from '../../../apps/api/dist/jobs/parse-request.js';
import { readNamespace } from '../../../apps/api/dist/namespaces/namespace-request.js';
import { readNodePool } from '../../../apps/api/dist/nodes/node-pool-request.js';
import { readDrain, readEligibility } from '../../../apps/api/dist/nodes/node-write-requests.js';
import { readSchedulerConfiguration } from '../../../apps/api/dist/operator/scheduler-configuration-request.js';
import { readSnapshots } from '../../../apps/api/dist/volumes/snapshot-request.js';
import { DecodeError, Refusal } from '../../../libs/model/dist/index.js';
import { declaring, timed } from '../harness.mjs';

/** @type {Map<string, (body: Buffer) => unknown>} */
const READERS = new Map(
  Object.entries({
    parse: (body) => readParseRequest(readJsonBody(body)),
    namespace: (body) => readNamespace(body, undefined),
    pool: (body) => readNodePool(body, undefined),
    drain: readDrain,
    eligibility: readEligibility,
    scheduler: (body) => readSchedulerConfiguration(body, { cas: '1' }),
    snapshots: (body) => readSnapshots(readJsonBody(body)),
    query: (body) => {
      const given = Object.fromEntries(new URLSearchParams(body.toString('utf8')));
      for (const read of [
        query.staleParam,
        query.indexParam,
        query.waitParam,
        query.perPageParam,
        query.uuidPrefixParam,
      ])
        declaring([Refusal], () => read(given));
      return query.boolParam(given, 'purge');
    },
  }),
);

export const fuzz = timed((data) => {
  const end = data.indexOf(0x0a);
  const read = READERS.get(data.subarray(0, Math.max(end, 0)).toString());
  if (read) declaring([Refusal, DecodeError], () => read(data.subarray(end + 1)));
});

export const seeds = () => [
  'parse\n{"JobHCL":"job \\"a\\" {}","Canonicalize":true,"Variables":"a = 1"}',
  'namespace\n{"Name":"ns","Description":"d","Meta":{"a":"b"},"Quota":"","Capabilities":{"EnabledTaskDrivers":["exec"]}}',
  'pool\n{"Name":"gpu","Description":"d","Meta":{"a":"b"},"SchedulerConfiguration":{"SchedulerAlgorithm":"spread"}}',
  'drain\n{"DrainSpec":{"Deadline":3600000000000,"IgnoreSystemJobs":true},"MarkEligible":true,"Meta":{"message":"m"}}',
  'eligibility\n{"Eligibility":"ineligible"}',
  'scheduler\n{"SchedulerAlgorithm":"binpack","PreemptionConfig":{"SystemSchedulerEnabled":true},"NodeLimitForFeasibilityChecks":10}',
  'snapshots\n{"Snapshots":[{"SourceVolumeID":"v","PluginID":"p","Name":"n","Secrets":{"a":"b"}}]}',
  'query\nindex=12&wait=5s&stale&prefix=0123-ab&per_page=10&purge=true',
];
