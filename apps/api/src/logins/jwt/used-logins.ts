/** UsedLogins knows which JWTs have logged in. */
export interface UsedLogins {
  /**
   * Remembers until its expiry that a JWT of a method logs in. If several callers claim it at once, one of them gets
   * it.
   * @param jti the `jti` claim
   * @param untilMs the Unix milliseconds at which no login accepts it any more
   * @returns false if it has logged in before
   * @throws Refusal unavailable if it cannot be remembered; it must not log in then
   */
  claim(method: string, jti: string, untilMs: number): Promise<boolean>;
}
