/** Caller names this machine in its calls to the servers. `SecretID` is its present credential: the secret or the signed identity (AU-191). */
export type Caller = () => { readonly ID: string; readonly SecretID: string };
