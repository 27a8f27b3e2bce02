/** The largest number of attempts in a row if other requests of this machine overtake each of them. */
const MAX_OVERTAKEN = 3;

/** OvertakenError says that abandoned requests of this machine keep arriving. The current state is sent again later. */
export class OvertakenError extends Error {
  override readonly name = 'OvertakenError';
  constructor() {
    super('earlier words of this machine were taken in between');
  }
}

/**
 * Repeats a request until the servers take it. Each attempt follows the change that the answer before has named
 * (ND-223).
 * @param say returns undefined if it was overtaken
 * @throws OvertakenError, or the error of `say`
 */
export async function retryUntilAccepted<T>(say: () => Promise<T | undefined>): Promise<T> {
  for (let attempt = 0; attempt < MAX_OVERTAKEN; attempt++) {
    const taken = await say();
    if (taken !== undefined) return taken;
  }
  throw new OvertakenError();
}
