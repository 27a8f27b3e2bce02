// The other files in HCL: of the agent, volumes, namespaces and node pools.
import {
  JobspecError,
  parseAgentConfig,
  parseNamespace,
  parseNodePools,
  VolumeFile,
} from '../../../libs/jobspec/dist/index.js';
import { declaring, filesIn, timed } from '../harness.mjs';

export const fuzz = timed((data) => {
  const file = { name: 'file.hcl', text: data.toString('utf8') };
  declaring([JobspecError], () => parseAgentConfig(file));
  declaring([JobspecError], () => parseNamespace(file));
  declaring([JobspecError], () => parseNodePools(file));
  const volume = declaring([JobspecError], () => VolumeFile.of(file));
  if (volume === undefined) return;
  declaring([JobspecError], () => volume.type);
  declaring([JobspecError], () => volume.decoded('csi'));
  declaring([JobspecError], () => volume.decoded('host'));
});

export const seeds = () => [
  ...filesIn('examples', /\.volume\.hcl$/),
  'name = "dc1"\nports { http = 4646 }\nclient { enabled = true\n meta { a = "b" } }\nserver { bootstrap_expect = 3 }',
  '{"client": {"meta": {"a": "b"}, "reserved": {"cpu": 100}}, "log_level": "INFO"}',
  'name = "ns"\ndescription = "d"\nmeta { a = "b" }\ncapabilities { enabled_task_drivers = ["exec"] }',
  'node_pool "gpu" { description = "d"\n meta { a = "b" }\n scheduler_config { scheduler_algorithm = "spread" } }',
  'id = "v"\nname = "v"\ntype = "host"\nplugin_id = "mkdir"\ncapacity_min = "1GB"\ncapability { access_mode = "single-node-writer"\n attachment_mode = "file-system" }',
];
