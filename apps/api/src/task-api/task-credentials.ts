import { Acl } from '@waybill/acl';
import { TokenRefusedError } from '@waybill/keyring';
import { workloadCaller, type WorkloadSource } from '../access/workload-callers.js';
import { type CallerSource, RefusedCredential } from '../access/callers.js';

/**
 * Returns a function that says whether a credential is valid in a request of a task (AU-213). While access control is
 * on, a token or an identity is valid. While it is off, only an identity of a workload is, because any other text would
 * be accepted without a check.
 */
export function taskCredentials(
  isOn: boolean,
  callers: CallerSource,
  workloads: WorkloadSource,
): (credential: string) => Promise<boolean> {
  const find = isOn
    ? (credential: string) => callers.of(credential)
    : (credential: string) => workloadCaller(credential, workloads, () => Acl.none);
  return async (credential) => {
    try {
      await find(credential);
      return true;
    } catch (error) {
      if (error instanceof RefusedCredential || error instanceof TokenRefusedError) return false;
      throw error;
    }
  };
}
