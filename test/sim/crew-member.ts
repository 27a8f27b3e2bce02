import type { Orders } from './crew.js';
import { outcomeOf, switchOn } from './outcome.js';
import { planOf } from './run-plan.js';

/** One process of a crew: gets a seed, runs it, tells its outcome, until its employer is gone: whatever it is at then. */
const { size, mutation } = JSON.parse(process.argv[2] ?? '') as Orders;
if (mutation !== undefined) switchOn(mutation);
process.on('message', (seed: number) => {
  void outcomeOf(planOf(seed, size)).then((outcome) => process.send?.(outcome));
});
process.once('disconnect', () => process.exit());
