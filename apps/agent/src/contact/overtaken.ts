/** How often in a row something is said again because other words of this machine were taken in between. */
const MAX_OVERTAKEN = 3;

/** What this machine has said before, and given up, goes on arriving; what is true now is said again later. */
export class OvertakenError extends Error {
  override readonly name = 'OvertakenError';
  constructor() {
    super('earlier words of this machine were taken in between');
  }
}

/**
 * Says it until it is taken: each time it comes after what the answer before has named (ND-223).
 * @param say undefined: it was overtaken
 * @throws OvertakenError, or what `say` throws
 */
export async function untilTaken<T>(say: () => Promise<T | undefined>): Promise<T> {
  for (let attempt = 0; attempt < MAX_OVERTAKEN; attempt++) {
    const taken = await say();
    if (taken !== undefined) return taken;
  }
  throw new OvertakenError();
}
