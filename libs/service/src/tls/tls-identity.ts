import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { type CancelTimer, errorText, type Timers } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import type { Settings } from '../settings.js';
import { TLS_VERSIONS } from './tls-settings.js';

/**
 * Milliseconds between two checks of the files. Notifications of the file system are not used: Kubernetes changes a
 * Secret by exchanging a link above its files, and network file systems do not notify. Reading three small files costs
 * nothing.
 */
export const TLS_FILES_CHECK_MS = 5_000;
/** A certificate that expires within this time causes a warning. */
const ENDS_SOON_MS = 14 * 24 * 3_600_000;

export interface TlsFiles {
  /** Empty for the authorities of the system. */
  readonly ca: string;
  /** Empty if this process presents no certificate. */
  readonly cert: string;
  readonly key: string;
}

/** Node's options with which a process proves its identity and verifies others. */
export interface TlsOptions {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3';
}

/** Files of certificates are unusable. The message names the settings and the reason. */
export class TlsFilesError extends Error {
  override readonly name = 'TlsFilesError';
}

export interface TlsIdentityDeps {
  readonly timers: Timers;
  readonly logger: Logger;
  readonly nowMs: () => number;
}

/**
 * The present certificate, key and authorities of this process.
 *
 * The files are read when it is opened, at `reload` (SIGHUP, OP-79) and every TLS_FILES_CHECK_MS. A new and valid set
 * replaces the previous one. An invalid or incomplete set is reported once, and the previous one stays until the files
 * change again (OP-223).
 */
export class TlsIdentity {
  private readonly listeners = new Set<(options: TlsOptions) => void>();
  private timer: CancelTimer | undefined;
  private refused: string | undefined;

  private constructor(
    private readonly files: TlsFiles,
    private readonly deps: TlsIdentityDeps,
    private taken: TlsOptions,
  ) {
    this.warnOfEnd();
    this.checkLater();
  }

  /** @throws TlsFilesError */
  static async open(settings: Settings, deps: TlsIdentityDeps): Promise<TlsIdentity> {
    const files = {
      ca: settings.WAYBILL_TLS_CA_FILE,
      cert: settings.WAYBILL_TLS_CERT_FILE,
      key: settings.WAYBILL_TLS_KEY_FILE,
    };
    const minVersion = TLS_VERSIONS[settings.WAYBILL_TLS_MIN_VERSION];
    const options = { ...(await contentOf(files)), minVersion };
    assertUsable(options);
    return new TlsIdentity(files, deps, options);
  }

  get current(): TlsOptions {
    return this.taken;
  }

  /** Expiry of the certificate. Undefined if there is none. */
  get endsAtMs(): number | undefined {
    return this.taken.cert === undefined ? undefined : Date.parse(new X509Certificate(this.taken.cert).validTo);
  }

  /** Calls the listener with each new set. */
  onChange(listener: (options: TlsOptions) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Loads a new and valid set from the files. Never throws: problems are logged. */
  async reload(): Promise<void> {
    try {
      const { ca, cert, key } = this.taken;
      const found = await contentOf(this.files);
      if (found.ca === ca && found.cert === cert && found.key === key) {
        this.refused = undefined;
        return;
      }
      const options = { ...found, minVersion: this.taken.minVersion };
      assertUsable(options);
      this.taken = options;
    } catch (error) {
      return this.refuse(error);
    }
    this.refused = undefined;
    this.deps.logger.info('certificates are read anew; new connections use them', this.shown());
    this.warnOfEnd();
    for (const listener of this.listeners) listener(this.taken);
  }

  stop(): void {
    this.timer?.();
    this.timer = undefined;
    this.listeners.clear();
  }

  private checkLater(): void {
    this.timer = this.deps.timers.after(TLS_FILES_CHECK_MS, () => {
      void this.reload().then(() => {
        if (this.timer) this.checkLater();
      });
    });
  }

  private refuse(error: unknown): void {
    const reason = errorText(error);
    if (reason === this.refused) return;
    this.refused = reason;
    this.deps.logger.error('new certificates cannot be used; the old ones stay in use', { reason });
  }

  private warnOfEnd(): void {
    const { endsAtMs } = this;
    if (endsAtMs === undefined || endsAtMs - this.deps.nowMs() > ENDS_SOON_MS) return;
    const hasEnded = endsAtMs <= this.deps.nowMs();
    this.deps.logger.warn(hasEnded ? 'the certificate has ended: nobody takes it' : 'the certificate ends soon', {
      ...this.shown(),
      file: this.files.cert,
    });
  }

  private shown(): Record<string, unknown> {
    const { endsAtMs } = this;
    return endsAtMs === undefined ? {} : { ends: new Date(endsAtMs).toISOString() };
  }
}

/** @throws TlsFilesError */
async function contentOf(files: TlsFiles): Promise<Omit<TlsOptions, 'minVersion'>> {
  const read = async (file: string, setting: string): Promise<string | undefined> => {
    if (file === '') return undefined;
    try {
      return await readFile(file, 'utf8');
    } catch (cause) {
      throw new TlsFilesError(`${setting} cannot be read: ${errorText(cause)}`, { cause });
    }
  };
  const [ca, cert, key] = await Promise.all([
    read(files.ca, 'WAYBILL_TLS_CA_FILE'),
    read(files.cert, 'WAYBILL_TLS_CERT_FILE'),
    read(files.key, 'WAYBILL_TLS_KEY_FILE'),
  ]);
  return { ...(ca !== undefined && { ca }), ...(cert !== undefined && { cert }), ...(key !== undefined && { key }) };
}

/** @throws TlsFilesError */
function assertUsable(options: TlsOptions): void {
  const isCertificate = (pem: string): boolean => {
    try {
      return new X509Certificate(pem).validTo !== '';
    } catch {
      return false;
    }
  };
  for (const [pem, setting] of [
    [options.ca, 'WAYBILL_TLS_CA_FILE'],
    [options.cert, 'WAYBILL_TLS_CERT_FILE'],
  ] as const)
    if (pem !== undefined && !isCertificate(pem)) throw new TlsFilesError(`${setting} holds no certificate in PEM`);
  try {
    createSecureContext(options);
  } catch (cause) {
    throw new TlsFilesError(`WAYBILL_TLS_CERT_FILE and WAYBILL_TLS_KEY_FILE cannot be used: ${errorText(cause)}`, {
      cause,
    });
  }
}
