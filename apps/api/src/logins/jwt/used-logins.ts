/** Which JWTs have logged in. */
export interface UsedLogins {
  /**
   * Remembers that a JWT of a method logs in, until it expires. Of several that claim one at once, one gets it.
   * @param jti its `jti` claim
   * @param untilMs unix milliseconds at which no login takes it any more
   * @returns false: it has logged in before
   * @throws Refusal unavailable: it cannot be remembered, so it must not log in
   */
  claim(method: string, jti: string, untilMs: number): Promise<boolean>;
}
