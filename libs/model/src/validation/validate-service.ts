import { NS_PER_SECOND } from '../time/clock.js';
import { formatDuration } from '../time/duration.js';
import { serviceIdentityErrors } from './validate-identity.js';
import type { Service, ServiceCheck } from '../jobs/service.js';
import {
  MAX_PORT_LABEL_BYTES,
  MAX_SERVICE_TEMPLATE_BYTES,
  nameLengthErrors,
  SERVICE_NAME,
} from '../limits/name-limits.js';

const ON_UPDATE = new Set(['require_healthy', 'ignore_warnings', 'ignore']);
const SERVICE_ADDRESS_MODES = new Set(['', 'auto', 'host', 'driver', 'alloc', 'alloc_ipv6']);
const CHECK_ADDRESS_MODES = new Set(['', 'host', 'driver', 'alloc', 'alloc_ipv6']);
const CHECK_STATES = new Set(['', 'passing', 'warning', 'critical']);
const HTTP_METHODS = new Set(['', 'GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'CONNECT', 'TRACE']);
const MIN_CHECK_TIME_NS = NS_PER_SECOND;

/** Returns the errors of a single service (API-343, API-344). */
export function serviceErrors(service: Service): string[] {
  const errors: string[] = [];
  // A name with variables is known only on the node.
  if (!service.Name.includes('${') && !SERVICE_NAME.test(service.Name)) {
    errors.push(
      'Service name must be valid per RFC 1123 and can contain only alphanumeric characters or dashes ' +
        `and must be no longer than 63 characters: "${service.Name}"`,
    );
  }
  for (const item of nameLengthErrors('Service name', service.Name, MAX_SERVICE_TEMPLATE_BYTES)) errors.push(item);
  for (const item of nameLengthErrors('Service port', service.PortLabel, MAX_PORT_LABEL_BYTES)) errors.push(item);
  if (!SERVICE_ADDRESS_MODES.has(service.AddressMode)) {
    errors.push(`Service address_mode must be "auto", "host", or "driver"; not "${service.AddressMode}"`);
  } else if (service.Address !== '' && service.AddressMode !== 'auto') {
    errors.push('Service address_mode must be "auto" if address is set');
  }
  if (!ON_UPDATE.has(service.OnUpdate)) {
    errors.push(
      `Service on_update must be "require_healthy", "ignore_warnings", or "ignore"; not "${service.OnUpdate}"`,
    );
  }
  if (service.Provider !== 'consul' && service.Provider !== 'nomad') {
    errors.push(`Service provider must be "consul", or "nomad"; not "${service.Provider}"`);
  }
  for (const item of serviceIdentityErrors(service)) errors.push(item);
  if (service.Provider === 'nomad' && service.Connect !== null) {
    errors.push('Service with provider nomad cannot include Connect blocks');
  }
  return [...errors, ...checksErrors(service)];
}

function checksErrors(service: Service): string[] {
  const errors: string[] = [];
  for (const check of service.Checks ?? []) {
    if (needsPort(check) && check.PortLabel === '' && service.PortLabel === '') {
      errors.push(
        `Check ${check.Name} invalid: check requires a port but neither check nor service "${service.Name}" have a port`,
      );
      continue;
    }
    // Only the first violation of a check is reported.
    const problem = checkProblem(check) ?? (service.Provider === 'nomad' ? nativeCheckProblem(check) : undefined);
    const wrongType = checkTypeProblem(check, service.Provider);
    const first = wrongType ?? problem;
    if (first !== undefined) errors.push(`Check ${check.Name} invalid: ${first}`);
  }
  return errors;
}

function needsPort(check: ServiceCheck): boolean {
  return ['tcp', 'http', 'grpc'].includes(check.Type.toLowerCase());
}

function checkTypeProblem(check: ServiceCheck, provider: string): string | undefined {
  const allowed = provider === 'nomad' ? ['tcp', 'http'] : ['http', 'tcp', 'script', 'grpc'];
  if (allowed.includes(check.Type.toLowerCase())) return undefined;
  return `invalid check type ("${check.Type}"), must be one of ${allowed.join(', ')}`;
}

function checkProblem(check: ServiceCheck): string | undefined {
  const type = check.Type.toLowerCase();
  if (type === 'http') {
    if (check.Path === '') return 'http type must have http path';
    if (/^[a-z][a-z0-9+.-]*:\/\//i.test(check.Path)) return 'http type must have relative http path';
  }
  if (type === 'script' && check.Command === '') return 'script type must have a valid script path';
  if (check.Interval === 0) return 'missing required value interval. Interval cannot be less than 1s';
  if (check.Interval < MIN_CHECK_TIME_NS) {
    return `interval (${formatDuration(check.Interval)}) cannot be lower than 1s`;
  }
  if (check.Timeout === 0) return 'missing required value timeout. Timeout cannot be less than 1s';
  if (check.Timeout < MIN_CHECK_TIME_NS) {
    return `timeout (${formatDuration(check.Timeout)}) is lower than required minimum timeout 1s`;
  }
  if (!CHECK_STATES.has(check.InitialStatus)) {
    return (
      `invalid initial check state (${check.InitialStatus}), ` +
      'must be one of "passing", "warning", "critical" or empty'
    );
  }
  if (!CHECK_ADDRESS_MODES.has(check.AddressMode)) return `invalid address_mode "${check.AddressMode}"`;
  if (!ON_UPDATE.has(check.OnUpdate)) {
    return `on_update must be "require_healthy", "ignore_warnings", or "ignore"; got "${check.OnUpdate}"`;
  }
  if (check.OnUpdate === 'ignore' && check.CheckRestart !== null) {
    return 'on_update value "ignore" is not compatible with check_restart';
  }
  return undefined;
}

/**
 * Returns the errors of repeated check names (API-344). Only checks in services of tasks need distinct names. Those of
 * a group may share one, including the default.
 */
export function repeatedCheckErrors({ Checks }: Service): string[] {
  const names = (Checks ?? []).map(({ Name }) => Name);
  return names
    .filter((name, at) => names.indexOf(name) < at)
    .map((name) => `check ${JSON.stringify(name)} is duplicate`);
}

/** Returns the error of a check that needs the consul provider. */
function nativeCheckProblem(check: ServiceCheck): string | undefined {
  const consulOnly: readonly [name: string, isSet: boolean][] = [
    ['expose', check.Expose],
    ['success_before_passing', check.SuccessBeforePassing !== 0],
    ['failures_before_critical', check.FailuresBeforeCritical !== 0],
    ['failures_before_warning', check.FailuresBeforeWarning !== 0],
    ['tls_server_name', check.TLSServerName !== ''],
  ];
  const name = consulOnly.find(([, isSet]) => isSet)?.[0];
  if (name !== undefined) return `${name} may only be set for Consul service checks`;
  if (check.OnUpdate === 'ignore_warnings') {
    return 'on_update may only be set to ignore_warnings for Consul service checks';
  }
  if (check.CheckRestart?.IgnoreWarnings === true) {
    return 'ignore_warnings on check_restart only supported for Consul service checks';
  }
  if (check.AddressMode === 'driver') return 'address_mode = driver may only be set for Consul service checks';
  if (!HTTP_METHODS.has(check.Method)) return `method type "${check.Method}" not supported in Nomad http check`;
  return undefined;
}
