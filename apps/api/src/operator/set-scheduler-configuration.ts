import type { TransactionWriter } from '@waybill/writing';
import type { SchedulerConfiguration } from '@waybill/model';
import { RpcError, RpcUnavailableError } from '@waybill/rpc';
import { unavailable } from '../http/api-error.js';
import type { Requester } from '../http/requester.js';
import type { BrokerInquiry } from './broker-inquiry.js';
import type { SchedulerConfigurationRequest } from './scheduler-configuration-request.js';

export interface Updated {
  readonly Updated: boolean;
  /** The index of the transaction, even if it changed nothing (OP-15). */
  readonly Index: number;
}

/**
 * SetSchedulerConfiguration replaces the scheduler configuration (OP-10 to OP-16). A change that pauses the broker or
 * lets it continue is answered when the broker obeys (OP-21).
 */
export class SetSchedulerConfiguration {
  constructor(
    private readonly read: { schedulerConfiguration(): Promise<SchedulerConfiguration | undefined> },
    private readonly writer: TransactionWriter,
    private readonly inquiry: Pick<BrokerInquiry, 'enabledAt'>,
  ) {}

  /** @throws Refusal unavailable if the change is stored and no broker was there to obey */
  async replaceConfiguration({ config, cas }: SchedulerConfigurationRequest, requester: Requester): Promise<Updated> {
    const before = await this.read.schedulerConfiguration();
    const payload = { Config: config, CAS: cas !== undefined, ModifyIndex: cas ?? 0 };
    const { index, result } = await this.writer.write({ type: 'SchedulerConfig', payload }, requester.author);
    const updated = result === true;
    if (updated && before?.PauseEvalBroker !== config.PauseEvalBroker) await this.awaitBroker(index, config);
    return { Updated: updated, Index: index };
  }

  private async awaitBroker(index: number, { PauseEvalBroker }: SchedulerConfiguration): Promise<void> {
    try {
      await this.inquiry.enabledAt(index);
    } catch (error) {
      if (!(error instanceof RpcUnavailableError) && !(error instanceof RpcError)) throw error;
      throw unavailable(
        `written as index ${index}, but no broker has confirmed that it is ${PauseEvalBroker ? 'paused' : 'enabled'}; the next one obeys`,
      );
    }
  }
}
