import { globMatcher } from '@waybill/model';

/** The hosts of identity providers that logins may call (AU-108), so that nobody who writes auth methods reaches inner services. */
export class LoginHosts {
  private readonly isNamed: (host: string) => boolean;

  /** @param globs with `*` for any run of characters, in lower case; none: any host */
  constructor(private readonly globs: readonly string[]) {
    this.isNamed = globMatcher(globs);
  }

  /** @param url an absolute URL; its port does not matter */
  allows(url: string | URL): boolean {
    return this.globs.length === 0 || this.isNamed(new URL(url).hostname);
  }
}
