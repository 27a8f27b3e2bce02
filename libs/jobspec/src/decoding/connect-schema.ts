import { NS_PER_SECOND } from '@waybill/model/clock';
import {
  bool,
  freeform,
  integer,
  labelled,
  listsBlock,
  many,
  mapBlock,
  one,
  optional,
  type Schema,
  text,
  texts,
} from './schema.js';
import { logsSchema, resourcesSchema } from './resources-schema.js';

/** Service mesh blocks are parsed and passed on, and have no effect (JS-158). */
const meshGatewaySchema: Schema = { attributes: { mode: text('Mode') }, blocks: {} };

const pathSchema: Schema = {
  attributes: {
    path: text('Path'),
    protocol: text('Protocol'),
    local_path_port: integer('LocalPathPort'),
    listener_port: text('ListenerPort'),
  },
  blocks: {},
};

const upstreamSchema: Schema = {
  attributes: {
    destination_name: text('DestinationName'),
    destination_namespace: text('DestinationNamespace'),
    destination_peer: text('DestinationPeer'),
    destination_partition: text('DestinationPartition'),
    destination_type: text('DestinationType'),
    local_bind_port: integer('LocalBindPort'),
    local_bind_address: text('LocalBindAddress'),
    local_bind_socket_path: text('LocalBindSocketPath'),
    local_bind_socket_mode: text('LocalBindSocketMode'),
    datacenter: text('Datacenter'),
  },
  blocks: { mesh_gateway: one('MeshGateway', meshGatewaySchema), config: freeform('Config') },
};

const transparentProxySchema: Schema = {
  attributes: {
    uid: text('UID'),
    outbound_port: integer('OutboundPort'),
    exclude_inbound_ports: texts('ExcludeInboundPorts'),
    exclude_outbound_ports: texts('ExcludeOutboundPorts'),
    exclude_outbound_cidrs: texts('ExcludeOutboundCIDRs'),
    exclude_uids: texts('ExcludeUIDs'),
    no_dns: bool('NoDNS'),
  },
  blocks: {},
};

const proxySchema: Schema = {
  attributes: { local_service_address: text('LocalServiceAddress'), local_service_port: integer('LocalServicePort') },
  blocks: {
    expose: one('Expose', { attributes: {}, blocks: { path: many('Paths', pathSchema) } }),
    upstreams: many('Upstreams', upstreamSchema),
    transparent_proxy: one('TransparentProxy', transparentProxySchema),
    config: freeform('Config'),
  },
};

const sidecarServiceSchema: Schema = {
  attributes: {
    tags: texts('Tags'),
    port: text('Port'),
    disable_default_tcp_check: bool('DisableDefaultTCPCheck'),
  },
  blocks: { meta: mapBlock('Meta'), proxy: one('Proxy', proxySchema) },
};

const sidecarTaskSchema: Schema = {
  attributes: {
    name: text('Name'),
    driver: text('Driver'),
    user: text('User'),
    kill_timeout: optional.duration('KillTimeout', { canonical: 5 * NS_PER_SECOND }),
    shutdown_delay: optional.duration('ShutdownDelay', { canonical: 0 }),
    kill_signal: text('KillSignal'),
  },
  blocks: {
    config: freeform('Config'),
    env: mapBlock('Env', true),
    meta: mapBlock('Meta', true),
    resources: one('Resources', resourcesSchema),
    logs: one('LogConfig', logsSchema),
  },
};

const linkedServiceSchema: Schema = {
  attributes: {
    name: text('Name'),
    ca_file: text('CAFile'),
    cert_file: text('CertFile'),
    key_file: text('KeyFile'),
    sni: text('SNI'),
  },
  blocks: {},
};

const tlsSchema: Schema = {
  attributes: {
    enabled: bool('Enabled'),
    tls_min_version: text('TLSMinVersion'),
    tls_max_version: text('TLSMaxVersion'),
    cipher_suites: texts('CipherSuites'),
  },
  blocks: {},
};

const listenerSchema: Schema = {
  attributes: { port: integer('Port'), protocol: text('Protocol') },
  blocks: {
    service: many('Services', {
      attributes: { name: text('Name'), hosts: texts('Hosts') },
      blocks: { request_headers: listsBlock('RequestHeaders'), response_headers: listsBlock('ResponseHeaders') },
    }),
  },
};

const gatewayProxySchema: Schema = {
  attributes: {
    connect_timeout: optional.duration('ConnectTimeout'),
    envoy_gateway_bind_tagged_addresses: bool('EnvoyGatewayBindTaggedAddresses'),
    envoy_gateway_no_default_bind: bool('EnvoyGatewayNoDefaultBind'),
    envoy_dns_discovery_type: text('EnvoyDNSDiscoveryType'),
  },
  blocks: {
    envoy_gateway_bind_addresses: labelled(
      'EnvoyGatewayBindAddresses',
      { attributes: { address: text('Address'), port: integer('Port') }, blocks: {} },
      'Name',
    ),
    config: freeform('Config'),
  },
};

const gatewaySchema: Schema = {
  attributes: {},
  blocks: {
    proxy: one('Proxy', gatewayProxySchema),
    ingress: one('Ingress', {
      attributes: {},
      blocks: { tls: one('TLS', tlsSchema), listener: many('Listeners', listenerSchema) },
    }),
    terminating: one('Terminating', { attributes: {}, blocks: { service: many('Services', linkedServiceSchema) } }),
    mesh: one('Mesh', { attributes: {}, blocks: {} }),
  },
};

export const connectSchema: Schema = {
  attributes: { native: bool('Native') },
  blocks: {
    sidecar_service: one('SidecarService', sidecarServiceSchema),
    sidecar_task: one('SidecarTask', sidecarTaskSchema),
    gateway: one('Gateway', gatewaySchema),
  },
};
