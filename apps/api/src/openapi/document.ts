import { type JobListStub, jobShape, WAYBILL_VERSION, wireSchema } from '@waybill/model';
import type { AllocFileInfo } from '@waybill/rpc';
import type { TaskConfigFault } from '../jobs/driver-configurations.js';
import type { JobValidateResponse } from '../jobs/job-validation.controller.js';
import { ACCESS_SCHEMAS } from './access-schemas.js';
import { ALLOCATION_SCHEMAS } from './allocation-schemas.js';
import { CLUSTER_SCHEMAS } from './cluster-schemas.js';
import type { Operation } from './operation.js';
import { OPERATIONS } from './operations.js';
import { HISTORY_SCHEMAS } from './history-schemas.js';
import { OPERATOR_SCHEMAS } from './operator-schemas.js';
import { PLUGIN_SCHEMAS } from './plugin-schemas.js';
import { SCHEDULING_SCHEMAS } from './scheduling-schemas.js';
import {
  anything,
  flag,
  int,
  type JsonSchema,
  listOf,
  maybeListOf,
  maybeMapOf,
  nullable,
  object,
  ref,
  text,
  uint,
} from './schema.js';
import { STORAGE_SCHEMAS } from './storage-schemas.js';
import { USAGE_SCHEMAS } from './usage-schemas.js';
import { VARIABLE_SCHEMAS } from './variable-schemas.js';

/** The parameters that every request may have. */
export const EVERYWHERE = ['region', 'pretty'] as const;
/** The parameters that may occur several times. */
const REPEATED: ReadonlySet<string> = new Set(['topic', 'type', 'address']);

const OTHERS: Readonly<Record<string, JsonSchema>> = {
  Request: { type: 'object', description: 'Names of members match in any case; unknown ones are ignored.' },
  JobRequest: { type: 'object', properties: { Job: nullable(ref('JobInput')) }, required: ['Job'] },
  JobListStub: object<JobListStub>(
    {
      ID: text,
      ParentID: text,
      Name: text,
      Namespace: text,
      Datacenters: maybeListOf(text),
      NodePool: text,
      Multiregion: anything,
      Type: text,
      Priority: int,
      Periodic: flag,
      ParameterizedJob: flag,
      Stop: flag,
      Status: text,
      StatusDescription: text,
      JobSummary: ref('JobSummary'),
      CreateIndex: uint,
      ModifyIndex: uint,
      JobModifyIndex: uint,
      SubmitTime: int,
      Meta: maybeMapOf(text),
    },
    ['Namespace', 'Meta'],
  ),
  JobValidateResponse: object<JobValidateResponse>(
    {
      DriverConfigValidated: flag,
      ValidationErrors: maybeListOf(text),
      Error: text,
      Warnings: text,
      Index: uint,
      ConfigFaults: listOf(ref('TaskConfigFault')),
    },
    ['ConfigFaults'],
  ),
  TaskConfigFault: object<TaskConfigFault>({
    TaskGroup: text,
    Task: text,
    Driver: text,
    Path: listOf(text),
    Message: text,
  }),
  StreamFrame: { type: 'object', properties: { Offset: int, Data: text, File: text, FileEvent: text } },
  AllocFileInfo: object<AllocFileInfo>(
    { Name: text, IsDir: flag, Size: int, FileMode: text, ModTime: text, ContentType: text },
    ['ContentType'],
  ),
};

/** Returns the OpenAPI 3.1 document of the whole API. The shapes of jobs come from the code that decodes them. */
export function openApiDocument(): JsonSchema {
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const operation of OPERATIONS) (paths[operation.path] ??= {})[operation.method] = described(operation);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Waybill',
      version: WAYBILL_VERSION,
      description: 'The HTTP API of Nomad, /v1, over a durable log. Durations and times are nanoseconds.',
    },
    paths,
    components: {
      schemas: {
        ...wireSchema.schemasOfShape(jobShape, 'answer'),
        ...wireSchema.schemasOfShape(jobShape, 'request'),
        ...SCHEDULING_SCHEMAS,
        ...ALLOCATION_SCHEMAS,
        ...CLUSTER_SCHEMAS,
        ...ACCESS_SCHEMAS,
        ...STORAGE_SCHEMAS,
        ...PLUGIN_SCHEMAS,
        ...OPERATOR_SCHEMAS,
        ...HISTORY_SCHEMAS,
        ...USAGE_SCHEMAS,
        ...VARIABLE_SCHEMAS,
        ...OTHERS,
      },
    },
  };
}

function described({ path, summary, query, body, answer }: Operation): JsonSchema {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: text,
  }));
  const inQuery = [...EVERYWHERE, ...query].map((name) => ({
    name,
    in: 'query',
    schema: REPEATED.has(name) ? { type: 'array', items: text } : text,
  }));
  const content = answer && { 'application/json': { schema: answer } };
  return {
    summary,
    parameters: [...inPath, ...inQuery],
    ...(body && { requestBody: { content: { 'application/json': { schema: body } } } }),
    responses: {
      '200': { description: summary, ...(content && { content }) },
      default: { description: 'Why not, in plain text', content: { 'text/plain': { schema: text } } },
    },
  };
}
