import { StartError, type TaskConfig, type TaskHandle } from '../drivers/driver.js';
import { MockDriver, type MockDriverOptions } from '../drivers/mock-driver.js';

/** The mock driver on a machine where a part of the starts fails. What tasks would print goes nowhere. */
export class UnsteadyDriver extends MockDriver {
  private readonly chance: () => number;

  constructor(
    host: Omit<MockDriverOptions, 'openOutput'>,
    /** In [0, 1]. */
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
