/** The largest number of attempts in a row if other requests of this machine overtake each of them. */
const MAX_OVERTAKEN = 3;

/** OvertakenError says that abandoned requests of this machine keep arriving. The current state is sent again later. */
export class OvertakenError extends Error {
  override readonly name = 'OvertakenError';
  constructor() {
    super('the servers applied earlier requests of this machine in between');
  }
}

/**
 * Repeats a request until the servers accept it. Each attempt follows the change that the previous answer named
 * (ND-223).
 * @param send returns undefined if the request was overtaken
 * @throws OvertakenError, or the error of `send`
 */
export async function retryUntilAccepted<T>(send: () => Promise<T | undefined>): Promise<T> {
  for (let attempt = 0; attempt < MAX_OVERTAKEN; attempt++) {
    const answer = await send();
    if (answer !== undefined) return answer;
  }
  throw new OvertakenError();
}
