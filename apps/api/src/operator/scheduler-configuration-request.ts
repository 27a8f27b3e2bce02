import { DecodeError, type PreemptionConfig, type SchedulerConfiguration, wire, Refusal } from '@waybill/model';
import { badRequest } from '../http/api-error.js';
import { readJsonBody } from '../http/body.js';
import { param, type QueryString } from '../http/query-string.js';

/** SchedulerConfigurationRequest is a configuration to set. */
export interface SchedulerConfigurationRequest {
  readonly config: SchedulerConfiguration;
  /** The expected index. If it is undefined, any stored configuration is replaced (OP-15). */
  readonly cas: number | undefined;
}

type Given = Omit<SchedulerConfiguration, 'SchedulerAlgorithm'> & { SchedulerAlgorithm: string };

const PREEMPTION: wire.Shape<PreemptionConfig> = {
  name: 'PreemptionConfig',
  fields: {
    SystemSchedulerEnabled: wire.boolean(),
    SysBatchSchedulerEnabled: wire.boolean(),
    BatchSchedulerEnabled: wire.boolean(),
    ServiceSchedulerEnabled: wire.boolean(),
  },
};

/** The body of a new configuration; a missing member is zero and does not keep its stored value (OP-12). */
const CONFIGURATION: wire.Shape<Given> = {
  name: 'SchedulerConfiguration',
  fields: {
    SchedulerAlgorithm: wire.string(),
    PreemptionConfig: wire.present(PREEMPTION),
    MemoryOversubscriptionEnabled: wire.boolean(),
    RejectJobRegistration: wire.boolean(),
    PauseEvalBroker: wire.boolean(),
    NodeLimitForFeasibilityChecks: wire.uint(),
    CreateIndex: wire.serverOwned(0),
    ModifyIndex: wire.serverOwned(0),
  },
};

/** Decodes a new scheduler configuration (OP-12 to OP-14). @throws Refusal invalid */
export function readSchedulerConfiguration(body: unknown, query: QueryString): SchedulerConfigurationRequest {
  const given = decodeBody(body);
  const config = { ...given, SchedulerAlgorithm: algorithmOf(given.SchedulerAlgorithm) };
  return { config, cas: casOf(param(query, 'cas')) };
}

function decodeBody(body: unknown): Given {
  try {
    return wire.decodeShape(CONFIGURATION, readJsonBody(body));
  } catch (error) {
    if (error instanceof Refusal || error instanceof DecodeError)
      throw badRequest(`Error parsing scheduler config: ${error.message}`);
    throw error;
  }
}

function algorithmOf(name: string): SchedulerConfiguration['SchedulerAlgorithm'] {
  if (name === '') return 'binpack';
  if (name === 'binpack' || name === 'spread') return name;
  throw badRequest(`invalid scheduler algorithm: ${name}`);
}

function casOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,20}$/.test(text)) return Number(text);
  throw badRequest(`Error parsing cas value: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`);
}
