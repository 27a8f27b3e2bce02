/** X.509 certificates for TLS: an authority, what it signs, their files, and what a certificate says. */
export { AUTHORITY_DAYS, createAuthority, type AuthorityRequest } from './authority.js';
export { certificateNames, describeCertificate, type CertificateInfo } from './describe.js';
export { CertificateFileExistsError, savePair, type PairFiles } from './files.js';
export { permittedDomains } from './permitted.js';
export { CERTIFICATE_DAYS, issueCertificate, type IssuedPair, type IssueRequest, type Purpose } from './issue.js';
export { CertificateError, type KeyPair } from './keys.js';
