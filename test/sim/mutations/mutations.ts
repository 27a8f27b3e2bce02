import { Writer } from '@waybill/api';
import { BlockedEvals, EvalBroker } from '@waybill/broker';
import { DeploymentWatchers } from '@waybill/deployments';
import { emptyLoad, type Evaluation } from '@waybill/model';
import { Projector } from '@waybill/projector';
import { type Applied, NodeLoads, StateMachine, type Txn } from '@waybill/state';
import { replaceMethod } from './replaced-method.js';

/** A bug that somebody could write any day, switched on for a run. */
export interface Mutation {
  readonly name: string;
  /** Tried first: it caught the mutation when this was written. */
  readonly seed: number;
  /** @returns the way back */
  readonly apply: () => () => void;
}

/** The parts of a projector that the mutation of its order needs. */
interface ProjectorSteps {
  store(applied: readonly Applied[], to: number): Promise<void>;
}

/** The parts of an evaluation broker that mutations reach into. */
interface BrokerSteps {
  makeReady(tracked: unknown): void;
}

/** Each is caught within 200 seeds: mutations.test.ts. */
export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'epoch check dropped',
    seed: 41,
    apply: () => replaceMethod(StateMachine, 'voidByEpoch', () => () => undefined),
  },
  {
    name: 'plan applied without verification',
    seed: 2,
    apply: () => replaceMethod(NodeLoads, 'of', () => () => emptyLoad()),
  },
  {
    name: 'delayed evaluations lost with the term',
    seed: 7,
    apply: () =>
      replaceMethod(
        EvalBroker,
        'restore',
        (original) =>
          function (this: never, evaluations: Iterable<Evaluation>) {
            const due = [...evaluations].filter(({ WaitUntil }) => WaitUntil === null);
            return Reflect.apply(original, this, [due]);
          },
      ),
  },
  {
    name: 'evaluations lost with the term',
    seed: 2,
    apply: () => replaceMethod(EvalBroker, 'restore', () => () => undefined),
  },
  {
    name: 'a nack forgets the evaluation',
    seed: 6,
    apply: () => replaceMethod(EvalBroker, 'redeliverLater', () => () => undefined),
  },
  {
    name: 'two evaluations of a job at once',
    seed: 2,
    apply: () =>
      replaceMethod(
        EvalBroker,
        'queueForJob',
        () =>
          function (this: BrokerSteps, tracked: unknown) {
            this.makeReady(tracked);
          } as never,
      ),
  },
  {
    name: 'freed capacity wakes nobody',
    seed: 4,
    apply: () => replaceMethod(BlockedEvals, 'release', () => () => undefined),
  },
  {
    name: 'projector commits before publishing',
    seed: 16,
    apply: () =>
      replaceMethod(
        Projector,
        'write',
        (original) =>
          async function (this: ProjectorSteps, batch: readonly { readonly applied: Applied }[], ...rest: unknown[]) {
            const applied = batch.map((one) => one.applied);
            await this.store(applied, applied.at(-1)?.index ?? 0);
            await Reflect.apply(original, this, [batch, ...rest]);
          } as never,
      ),
  },
  {
    name: 'write answered before it can be read',
    seed: 1,
    apply: () => replaceMethod(Writer, 'readable', () => async () => ({ kind: 'accepted' })),
  },
  {
    name: 'report taken although a later one was',
    seed: 5,
    apply: () =>
      replaceMethod(
        StateMachine,
        'apply',
        (original) =>
          function (this: never, txn: Txn) {
            const isReport = txn.type === 'AllocClientUpdate';
            const taken = isReport ? { ...txn, payload: { ...txn.payload, After: {} } } : txn;
            return Reflect.apply(original, this, [taken]);
          },
      ),
  },
  {
    name: 'deployments that begin within a term are not watched',
    seed: 2,
    apply: () => replaceMethod(DeploymentWatchers, 'applied', () => () => undefined),
  },
  {
    name: 'the next evaluation of a job waits for ever',
    seed: 1,
    apply: () => replaceMethod(EvalBroker, 'releaseJob', () => () => undefined),
  },
];
