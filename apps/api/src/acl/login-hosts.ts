import { globMatcher } from '@waybill/model';

/**
 * LoginHosts has the hosts of identity providers that logins may call (AU-108), so that authors of auth methods cannot
 * reach inner services.
 */
export class LoginHosts {
  private readonly isNamed: (host: string) => boolean;

  /** @param globs patterns in lower case with `*` for any characters; none allows any host */
  constructor(private readonly globs: readonly string[]) {
    this.isNamed = globMatcher(globs);
  }

  /** @param url an absolute URL; its port does not matter */
  allows(url: string | URL): boolean {
    return this.globs.length === 0 || this.isNamed(new URL(url).hostname);
  }
}
