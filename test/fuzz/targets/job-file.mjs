// Job files in HCL: parsing, evaluation, decoding, and the job that comes of it.
import { JobspecError, parseJob } from '../../../libs/jobspec/dist/index.js';
import { DecodeError, decodeJob, validateJob } from '../../../libs/model/dist/index.js';
import { declaring, filesIn, same, timed } from '../harness.mjs';

export const fuzz = timed((data) => {
  const file = { name: 'job.hcl', text: data.toString('utf8') };
  const parsed = declaring([JobspecError], () => parseJob({ file, canonicalise: true }));
  if (parsed === undefined) return;
  same(
    'the same file parsed again',
    declaring([JobspecError], () => parseJob({ file, canonicalise: true }))?.job,
    parsed.job,
  );
  const job = declaring([DecodeError], () => decodeJob(parsed.job));
  if (job !== undefined) validateJob(job);
});

export const seeds = () => [
  ...filesIn('examples', /\.nomad\.hcl$/),
  'variable "a" { default = [for k, v in {a = 1}: upper(k) if v > 0] }\nlocals { b = "${var.a[0]}-${1 + 2 * 3}" }\njob "x" { type = local.b }',
  'job "a" { meta { x = <<-EOT\n  a ${true ? "b" : "c"} %{ for i in [1,2] }${i}%{ endfor }\n  EOT\n } }',
  'job "a" { dynamic "group" { for_each = ["x"]\n labels = [group.value]\n content { count = 2 } } }',
];
