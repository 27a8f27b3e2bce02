import { StartError, type TaskConfig, type TaskHandle } from '../drivers/driver.js';
import { MockDriver, type MockDriverOptions } from '../drivers/mock-driver.js';

/**
 * UnsteadyDriver is the mock driver on a machine where a share of the starts fails. It discards the output of tasks.
 */
export class UnsteadyDriver extends MockDriver {
  private readonly chance: () => number;

  constructor(
    host: Omit<MockDriverOptions, 'openOutput'>,
    /** The share of failing starts, in [0, 1]. */
    private readonly failures: number,
  ) {
    super({ ...host, openOutput: () => ({ write: async () => {}, close: async () => {} }) });
    this.chance = host.random;
  }

  override async start(config: TaskConfig, handle: TaskHandle): Promise<void> {
    if (this.chance() < this.failures) throw new StartError('failed by the simulation', true);
    await super.start(config, handle);
  }
}
