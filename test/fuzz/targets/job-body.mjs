// The JSON of a job: body, decoding, defaults, validation, differences, and the form in which it goes out again.
import { readJsonBody } from '../../../apps/api/dist/http/body.js';
import {
  DecodeError,
  decodeJob,
  diffJobs,
  droppedFieldWarnings,
  encodeJob,
  Refusal,
  validateJob,
} from '../../../libs/model/dist/index.js';
import { fixtures } from '../../../libs/state/dist/index.js';
import { declaring, filesIn, same, timed } from '../harness.mjs';

export const fuzz = timed((data) => {
  const json = declaring([Refusal], () => readJsonBody(data));
  if (json === undefined) return;
  const job = declaring([DecodeError], () => decodeJob(json));
  if (job === undefined) return;
  droppedFieldWarnings(json);
  const { errors } = validateJob(job);
  diffJobs(null, job);
  if (errors.length > 0) return;
  // What a client reads and sends back is the same job.
  const again = JSON.parse(JSON.stringify(encodeJob(job)));
  const stored = decodeJob(again);
  same('a job that was read and sent back', JSON.parse(JSON.stringify(encodeJob(stored))), again);
});

export const seeds = () => [
  ...filesIn('examples', /\.json$/).map((text) => JSON.stringify(JSON.parse(text).Job ?? JSON.parse(text))),
  JSON.stringify(encodeJob(fixtures.aJob())),
  '{"ID":"a","TaskGroups":[{"Name":"g","Tasks":[{"Name":"t","Driver":"exec","Config":{"command":"/bin/true"},"RestartPolicy":null}]}]}',
  '{"ID":"p","Type":"batch","Periodic":{"Spec":"*/5 * * * *","TimeZone":"Europe/Berlin"},"Constraints":[{"LTarget":"${attr.kernel.name}","RTarget":"linux","Operand":"="}]}',
  '{"id":"a","meta":null,"Multiregion":{"Regions":[{"Name":"x","Count":1}]},"Update":{"Canary":1,"MaxParallel":2}}',
];
