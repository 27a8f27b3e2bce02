import type { CancelTimer, Timers } from '@waybill/model';
import type { RegisteredService } from '@waybill/rpc';
import type { Logger } from '@waybill/telemetry';
import type { ServiceRegistry } from './service-registry.js';

/** Waits between attempts to register double from the first to the longest (AG-142). */
export const FIRST_RETRY_MS = 100;
export const MAX_RETRY_MS = 1_000;

export interface RegistrationsDependencies {
  readonly allocId: string;
  readonly registry: ServiceRegistry;
  readonly timers: Timers;
  readonly logger: Logger;
}

/**
 * Registrations registers and deregisters one allocation's services until the servers' state matches the wanted
 * services.
 *
 * States: even → telling → even | waiting (the last attempt failed) → telling … ; closed: nothing is sent any more.
 * There is one call at a time, so the last call decides, and changes in the meantime follow after it. A registration
 * counts as known from before its call, so that one with an unknown outcome is removed, too. Cost: one call per change,
 * one timer.
 */
export class Registrations {
  private wanted: ReadonlyMap<string, RegisteredService> = new Map();
  /**
   * The registrations that were sent, as JSON by id. The value is "" if the servers may know the service, but not in
   * the wanted form.
   */
  private readonly known = new Map<string, string>();
  private updating: Promise<void> | undefined;
  private failures = 0;
  private cancelRetry: CancelTimer = () => {};
  private isClosed = false;

  constructor(private readonly deps: RegistrationsDependencies) {}

  /** Restores ids. @param ids the ids that an earlier run of the agent may have registered */
  restore(ids: readonly string[]): void {
    for (const id of ids) this.known.set(id, '');
  }

  /** Returns all ids that the servers know or are about to know. */
  get ids(): string[] {
    return [...new Set([...this.known.keys(), ...this.wanted.keys()])];
  }

  /** Sets the wanted services. Resolves after the next attempt, whatever its outcome; retries continue. */
  setServices(services: readonly RegisteredService[]): Promise<void> {
    this.wanted = new Map(services.map((service) => [service.ID, service]));
    return this.updateServers();
  }

  close(): void {
    this.isClosed = true;
    this.cancelRetry();
  }

  private async updateServers(): Promise<void> {
    this.cancelRetry();
    await this.updating;
    if (this.isClosed || this.isEven) return;
    this.updating ??= this.sendDifference().finally(() => (this.updating = undefined));
    await this.updating;
  }

  private get isEven(): boolean {
    return this.superfluousIds().length === 0 && this.missingServices().length === 0;
  }

  private superfluousIds(): string[] {
    return [...this.known.keys()].filter((id) => !this.wanted.has(id));
  }

  private missingServices(): RegisteredService[] {
    return [...this.wanted.values()].filter((service) => this.known.get(service.ID) !== JSON.stringify(service));
  }

  private async sendDifference(): Promise<void> {
    const { allocId, registry, logger, timers } = this.deps;
    try {
      const gone = this.superfluousIds();
      if (gone.length > 0) await registry.deregister(allocId, gone);
      for (const id of gone) this.known.delete(id);
      const added = this.missingServices();
      for (const { ID } of added) this.known.set(ID, '');
      if (added.length > 0) await registry.register(allocId, added);
      for (const service of added) this.known.set(service.ID, JSON.stringify(service));
      this.failures = 0;
    } catch (error) {
      const retryMs = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** this.failures++);
      logger.warn('services could not be told to the servers; trying again', { alloc: allocId, error, retryMs });
      if (!this.isClosed) this.cancelRetry = timers.after(retryMs, () => void this.updateServers());
    }
  }
}
