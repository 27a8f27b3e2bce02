/** Caller names this machine in its calls to the servers. `SecretID` is what it proves itself with now (AU-191). */
export type Caller = () => { readonly ID: string; readonly SecretID: string };
