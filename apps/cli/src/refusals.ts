/** Why a command of `nomad` has no function here. The server answers with the reason, or the program knows it. */
export type Refusal =
  | { readonly path: string; readonly doing: string; readonly synopsis: string; readonly text: string }
  | { readonly path?: undefined; readonly synopsis: string; readonly text: string };

const COMMERCIAL = 'Only in the commercial edition of Nomad';
const NOT_YET = 'Not available yet';
const NOT_OFFERED = 'Not offered';

/** A command of Nomad Enterprise calls the API and prints its refusal (CL-936). */
const commercial = (path: string): Refusal => ({
  path,
  doing: 'querying the server',
  synopsis: COMMERCIAL,
  text: 'Nomad Enterprise only endpoint',
});
const notYet = (text: string): Refusal => ({ synopsis: NOT_YET, text });
const notOffered = (text: string): Refusal => ({ synopsis: NOT_OFFERED, text });

const RAFT = notOffered(
  'there is no Raft: the log is a stream of NATS (`nats stream info TXN`), its entries are shown by `log`',
);

/** Refused commands by their words. Each exits with 1 and one line, whatever its flags. */
export const REFUSALS: Readonly<Record<string, Refusal>> = {
  fmt: notYet('job files are not formatted; `job validate` says what is wrong with one'),
  'license get': commercial('/v1/operator/license'),
  'operator gossip': notOffered('there is no gossip, and so no gossip keys'),
  'operator raft info': RAFT,
  'operator raft logs': RAFT,
  'operator raft migrate': RAFT,
  'operator raft state': RAFT,
  'operator snapshot redact': notOffered('an archive of Waybill holds no keys: there is nothing to take out of it'),
  'operator state rebuild': notYet('a projector that finds an empty database rebuilds it from the log by itself'),
  'operator state verify': notYet('`npm run verify` looks at a log and its database from the outside (docs/verify.md)'),
  'quota apply': commercial('/v1/quota'),
  'quota list': commercial('/v1/quotas'),
  'quota status': commercial('/v1/quota-usages'),
  'recommendation apply': commercial('/v1/recommendations/apply'),
  'recommendation list': commercial('/v1/recommendations'),
  'sentinel apply': commercial('/v1/sentinel/policies'),
  'sentinel list': commercial('/v1/sentinel/policies'),
};
