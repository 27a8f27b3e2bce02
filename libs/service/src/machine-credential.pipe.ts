import { Injectable, type PipeTransform } from '@nestjs/common';
import { NodeIdentityCheck } from './node-identity-check.js';

/**
 * Accepts a machine's signed identity in a call that asks for the machine's secret (AU-191). The call declares it beside
 * its request: `@Payload(MachineCredentialPipe) request`. A call without it accepts the secret alone, so an identity is
 * good for machine calls only. The handler sees the secret in both cases, and has one kind of proof to check.
 */
@Injectable()
export class MachineCredentialPipe implements PipeTransform<{ readonly SecretID: string }> {
  constructor(private readonly identities: NodeIdentityCheck) {}

  async transform<T extends { readonly SecretID: string }>(request: T): Promise<T> {
    return { ...request, SecretID: await this.identities.secretFor(request.SecretID) };
  }
}
