import { errorText, NS_PER_MS, NS_PER_HOUR } from '@waybill/model';
import { AuditStream } from '@waybill/journal';
import type { ServiceContext, Settings } from '@waybill/service';
import type { AccessControl } from '../acl/access-control.js';
import { AuditFiles } from './audit-files.store.js';
import { leavesOut } from './audit-filter.js';
import { AuditLog, type AuditSink } from './audit-log.js';
import { AuditRecords } from './audit-records.transport.js';
import { Audit } from './audit.js';
import { FileSink } from './file-sink.store.js';
import { NatsSink } from './nats-sink.transport.js';

/** AuditUnavailableError says that the audit log cannot be written, while the settings forbid answers without it. */
export class AuditUnavailableError extends Error {
  override readonly name = 'AuditUnavailableError';
  constructor(file: string, cause: unknown) {
    super(
      `the audit log WAYBILL_AUDIT_FILE=${file} cannot be written: ${errorText(cause)}. Name another file, or set WAYBILL_AUDIT_DELIVERY=best-effort`,
      { cause },
    );
  }
}

type AuditContext = Pick<ServiceContext, 'settings' | 'clock' | 'logger' | 'link' | 'newId' | 'metrics'>;

/**
 * Opens the audit log that the settings describe. @throws AuditUnavailableError; LogUnavailableError if JetStream makes
 * no stream
 */
export async function openAudit(context: AuditContext, access: AccessControl): Promise<Audit> {
  const { settings, clock, logger, link, newId, metrics } = context;
  if (!settings.WAYBILL_AUDIT_ENABLED) return new Audit(undefined);
  const isEnforced = settings.WAYBILL_AUDIT_DELIVERY === 'enforced';
  const stream = await streamOf(settings, link);
  const sinks: AuditSink[] = stream ? [new NatsSink(stream)] : [];
  if (settings.WAYBILL_AUDIT_SINKS.includes('file')) sinks.push(await fileSinkOf(context, isEnforced));
  const dropped = metrics.counter('nomad_audit_dropped', 'audit records that were not written');
  const log = new AuditLog({
    sinks,
    isEnforced,
    leavesOut: leavesOut(settings.WAYBILL_AUDIT_FILTERS),
    clock,
    newId,
    logger,
    dropped: () => dropped.inc(),
  });
  return new Audit({
    recorder: {
      log,
      region: settings.WAYBILL_REGION,
      isAccessControlOn: access.isOn,
      fingerprint: (credential) => access.on.secrets.fingerprint(credential),
      elapsed: () => performance.now(),
    },
    source: stream ? new AuditRecords(stream) : new AuditFiles(settings.WAYBILL_AUDIT_FILE),
  });
}

async function streamOf(settings: Settings, link: AuditContext['link']): Promise<AuditStream | undefined> {
  if (!settings.WAYBILL_AUDIT_SINKS.includes('nats')) return undefined;
  const maxAgeMs = (settings.WAYBILL_AUDIT_RETENTION_HOURS * NS_PER_HOUR) / NS_PER_MS;
  return AuditStream.open(link, settings.WAYBILL_REGION, { replicas: settings.WAYBILL_STREAM_REPLICAS, maxAgeMs });
}

async function fileSinkOf({ settings, clock, logger }: AuditContext, isEnforced: boolean): Promise<FileSink> {
  const file = settings.WAYBILL_AUDIT_FILE;
  const sink = new FileSink({
    file,
    mode: settings.WAYBILL_AUDIT_FILE_MODE,
    sync: settings.WAYBILL_AUDIT_SYNC,
    rotation: {
      bytes: settings.WAYBILL_AUDIT_ROTATE_BYTES,
      ageMs: settings.WAYBILL_AUDIT_ROTATE_DURATION / NS_PER_MS,
      files: settings.WAYBILL_AUDIT_ROTATE_MAX_FILES,
    },
    clock,
    logger,
  });
  await sink.open().catch((error: unknown) => {
    if (isEnforced) throw new AuditUnavailableError(file, error);
    logger.error('the audit log cannot be written', { file, error });
  });
  return sink;
}
