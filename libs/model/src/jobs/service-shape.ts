import { NS_PER_SECOND } from '../time/clock.js';
import type { CheckRestart, Service, ServiceCheck } from './service.js';
import { identityShape } from './identity-shape.js';
import {
  boolean,
  derived,
  duration,
  filledList,
  filledString,
  freeform,
  int,
  list,
  map,
  object,
  present,
  string,
  type Shape,
} from '../encoding/wire-shape.js';

export const checkRestartShape: Shape<CheckRestart> = {
  name: 'CheckRestart',
  fields: { Limit: int(), Grace: duration(NS_PER_SECOND), IgnoreWarnings: boolean() },
};

const checkShape: Shape<ServiceCheck> = {
  name: 'ServiceCheck',
  fields: {
    Name: string(),
    Type: string(),
    Command: string(),
    Args: list(string()),
    Path: string(),
    Protocol: string(),
    PortLabel: string(),
    Expose: boolean(),
    AddressMode: string(),
    Interval: duration(),
    Timeout: duration(),
    InitialStatus: string(),
    Notes: string(),
    TLSServerName: string(),
    TLSSkipVerify: boolean(),
    Method: string(),
    Header: map(filledList(string())),
    CheckRestart: object(checkRestartShape),
    GRPCService: string(),
    GRPCUseTLS: boolean(),
    TaskName: string(),
    SuccessBeforePassing: int(),
    FailuresBeforeCritical: int(),
    FailuresBeforeWarning: int(),
    Body: string(),
    OnUpdate: string(),
  },
};

const weightsShape: Shape<NonNullable<Service['Weights']>> = {
  name: 'ServiceWeights',
  fields: { Passing: int(), Warning: int() },
};

export const serviceShape: Shape<Service> = {
  name: 'Service',
  fields: {
    Name: string(),
    TaskName: string(),
    PortLabel: string(),
    AddressMode: filledString('auto'),
    Address: string(),
    EnableTagOverride: boolean(),
    Tags: list(string()),
    CanaryTags: list(string()),
    Checks: list(present(checkShape)),
    Connect: freeform(),
    Meta: map(string()),
    CanaryMeta: map(string()),
    Weights: object(weightsShape),
    TaggedAddresses: map(string()),
    // A client's value is dropped; the provider determines the namespace (API-317).
    Namespace: derived(string()),
    OnUpdate: filledString('require_healthy'),
    Provider: filledString('consul'),
    Cluster: filledString('default'),
    Identity: object(identityShape),
    Kind: string(),
  },
  inputOnly: { CheckRestart: object(checkRestartShape) },
};
