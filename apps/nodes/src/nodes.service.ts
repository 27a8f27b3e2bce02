import { nodesWriter } from './node/nodes-writer.js';
import { ConnectionIssuer } from '@waybill/journal';
import { msFromNs } from '@waybill/model';
import { natsPresence, type Presence } from '@waybill/rpc';
import {
  NodeIdentityCheck,
  openKeyring,
  type ServiceContext,
  type ServiceDefinition,
  userRightsOf,
} from '@waybill/service';
import { rootKeysOf } from '@waybill/state';
import { Admissions } from './admissions/admissions.js';
import { AdmissionServer } from './admissions/admissions.transport.js';
import { AllocQueries } from './allocations/alloc-queries.js';
import { AllocUpdates } from './allocations/alloc-updates.js';
import { DrainCommands } from './drain/drain-commands.js';
import { Drainer } from './drain/drainer.js';
import { IdentitySigning } from './identities/identity-signing.js';
import { NodeIdentities } from './identities/node-identities.js';
import { Introductions } from './introductions/introductions.js';
import { TokenReviews } from './introductions/token-review.transport.js';
import { Peers } from './heartbeats/peers.js';
import { DEFAULT_PACE, type HeartbeatPace } from './heartbeats/heartbeat-ttl.js';
import { Heartbeats } from './heartbeats/heartbeats.js';
import { MissingNodeEvaluations } from './heartbeats/missing-node-evaluations.js';
import { NodeEvaluations } from './node/node-evaluations.js';
import { NodeCommands } from './node/node-commands.js';
import { NodeEvents } from './node/node-events.js';
import { NodesHolder } from './nodes-holder.js';
import { NodesModule } from './nodes.module.js';
import { PlacementTraces } from './allocations/placement-traces.js';
import { PreviousDisks } from './allocations/previous-disks.js';
import { RefusedNodes } from './node/refused-nodes.js';
import { Registration } from './node/registration.js';
import { UserRightsQueries } from './node/user-rights-queries.js';
import { ServiceQueries } from './allocations/service-queries.js';
import { VariableQueries } from './variables/variable-queries.js';
import { ServiceRegistrations } from './allocations/service-registrations.js';

const overNats = ({ link }: ServiceContext): Presence => natsPresence(link.nc);

/**
 * The `nodes` service.
 * @param pace for tests that cannot wait until real heartbeats are missed
 * @param presenceIn replaced in the simulator, which has no NATS
 */
export function nodesService(pace: HeartbeatPace = DEFAULT_PACE, presenceIn = overNats): ServiceDefinition {
  return {
    name: 'nodes',
    needs: { state: true, database: false },
    async build(context) {
      const { state, clock, timers, newId, logger, metrics, settings } = context;
      const region = settings.WAYBILL_REGION;
      const writer = nodesWriter(state, { clock, newId, region });
      const shared = { state, clock, timers, newId, writer, region };
      const evaluations = new NodeEvaluations(state, writer);
      const keyring = await openKeyring(context, rootKeysOf(state));
      const issuer = settings.WAYBILL_OIDC_ISSUER;
      const identities = new NodeIdentities({ ...shared, keyring, logger, issuer });
      const identityCheck = new NodeIdentityCheck({ state, clock, timers });
      const watched = { ...shared, evaluations, random: context.random, pace, logger, identities, identityCheck };
      const heartbeats = new Heartbeats(watched);
      const missing = new MissingNodeEvaluations({ state, evaluations, clock, timers, logger });
      const traces = new PlacementTraces(state);
      const queries = new AllocQueries(state, traces, timers);
      const serviceQueries = new ServiceQueries(state, timers);
      const updates = new AllocUpdates({ ...shared, tracer: () => context.tracer });
      const unrecorded = metrics.counter('nodes_unrecorded_refusals', 'refused registrations without an audit record');
      const refusals = new RefusedNodes(context.audit, clock, () => unrecorded.inc());
      const violations = metrics.counter(
        'nomad_client_introduction_violation_num',
        'new machines whose introduction token is missing or wrong',
      );
      const introductions = new Introductions({
        state,
        keyring,
        writer,
        logger,
        reviews: tokenReviewsOf(context),
        enforcement: settings.WAYBILL_CLIENT_INTRODUCTION_ENFORCEMENT,
        violation: () => violations.inc(),
      });
      const admissions = await admissionServerOf(
        context,
        new Admissions({
          state,
          introductions,
          clock,
          random: context.random,
          ttlMs: msFromNs(settings.WAYBILL_NATS_ADMISSION_TTL),
        }),
      );
      const registration = new Registration({ ...watched, introductions, forbidden: refusals.record });
      const variables = new VariableQueries(state, keyring, timers);
      const peers = new Peers(presenceIn(context), newId(), clock, timers);
      metrics.gauge('nomad_heartbeat_active', 'Machines whose heartbeats are watched here', {
        collect: () => heartbeats.stats()['trackedNodes'] ?? 0,
      });
      metrics.gauge('nodes_waiting_registrations', 'Registrations of machines that wait for their turn', {
        collect: () => registration.waiting,
      });
      metrics.gauge('nodes_waiting_reads', 'Allocation reads of agents that wait for news', {
        collect: () => queries.reads,
      });
      metrics.gauge('nodes_pending_updates', 'Allocation updates of agents not committed yet', {
        collect: () => updates.pending,
      });
      return {
        module: NodesModule.of({
          registration,
          heartbeats,
          queries,
          updates,
          events: new NodeEvents(state, writer),
          commands: new NodeCommands(state, evaluations, writer),
          drains: new DrainCommands(state, evaluations, writer),
          services: new ServiceRegistrations(state, writer),
          serviceQueries,
          disks: new PreviousDisks(state, context.rpc),
          variables,
          userRights: new UserRightsQueries(state, userRightsOf(context)),
          identities: new IdentitySigning({ state, keyring, clock, newId, issuer }),
          identityCheck,
        }),
        singleton: new NodesHolder(heartbeats, missing, new Drainer({ ...shared, logger })),
        start: () => {
          admissions?.start();
          peers.start();
        },
        stop: async () => {
          await admissions?.stop();
          peers.stop();
          updates.flush();
          queries.stop();
          serviceQueries.stop();
          variables.stop();
          traces.stop();
        },
      };
    },
  };
}

export const nodes: ServiceDefinition = nodesService();

/** Returns undefined if Kubernetes introduces no machines. */
function tokenReviewsOf({ settings, clock }: ServiceContext): TokenReviews | undefined {
  const [namespace, name] = settings.WAYBILL_KUBERNETES_AGENTS.split('/');
  if (name === undefined) return undefined;
  return new TokenReviews({
    server: settings.WAYBILL_KUBERNETES_URL,
    accountDir: settings.WAYBILL_KUBERNETES_ACCOUNT_DIR,
    account: `system:serviceaccount:${namespace}:${name}`,
    clock,
  });
}

/** Returns undefined if only the configuration of NATS admits machines. @throws CredentialsError */
async function admissionServerOf(
  context: ServiceContext,
  admissions: Admissions,
): Promise<AdmissionServer | undefined> {
  const { WAYBILL_NATS_ISSUER_FILE: issuerFile } = context.settings;
  if (issuerFile === '') return undefined;
  // Read only here: a simulated service has no connection to NATS.
  const { link, clock, logger, metrics } = context;
  const issuer = await ConnectionIssuer.read(issuerFile);
  const admitted = metrics.counter('nodes_nats_admissions', 'connections of machines that were admitted to NATS');
  const refused = metrics.counter('nodes_nats_refusals', 'connections that were not admitted to NATS');
  return new AdmissionServer({
    nc: link.nc,
    issuer,
    admissions,
    clock,
    logger,
    answered: (isAdmitted) => (isAdmitted ? admitted : refused).inc(),
  });
}
