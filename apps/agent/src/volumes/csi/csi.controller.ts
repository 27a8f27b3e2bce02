import { Controller, type Type } from '@nestjs/common';
import { Payload } from '@nestjs/microservices';
import { Answers, CSI_CONTROLLER, CSI_NODE, type CsiCall } from '@waybill/rpc';
import { controllerAnswers } from './controller-calls.js';
import type { CsiHost } from './csi-host.js';
import { nodeAnswers } from './node-calls.js';

type Answer = (request: never) => Promise<unknown>;

/**
 * Returns a controller with the servers' calls to the storage plugins of this machine. It has one method for every call
 * of the tables, because Nest finds answers by the methods of a class.
 */
export function csiControllerOf(host: Pick<CsiHost, 'plugins' | 'mounter' | 'usesVolumes'>): Type {
  @Controller()
  class CsiController {}
  const withRpcErrors = (
    calls: Readonly<Record<string, CsiCall<unknown, unknown>>>,
    answers: Readonly<Record<string, Answer>>,
  ) => {
    for (const [name, { call, method }] of Object.entries(calls)) {
      const descriptor = { value: answers[name], configurable: true };
      Object.defineProperty(CsiController.prototype, method, descriptor);
      Answers(call)(CsiController.prototype, method, descriptor);
      Payload()(CsiController.prototype, method, 0);
    }
  };
  withRpcErrors(CSI_CONTROLLER, controllerAnswers(host));
  withRpcErrors(CSI_NODE, nodeAnswers(host));
  return CsiController;
}
