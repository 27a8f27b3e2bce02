/** The file of `volume init` (CL-706). */
export const EXAMPLE_VOLUME_HCL = `# A disk that outlives the machines it is mounted on.
id        = "database"
name      = "database"
namespace = "default"
type      = "csi"

# The storage plugin that serves it: see "plugin status".
plugin_id = "disks"

# For "volume register": what the provider calls the disk.
# external_id = "vol-1234"

# For "volume create": how large it is to be, and what it is made of.
capacity_min = "10GiB"
capacity_max = "20GiB"
# snapshot_id = "snap-1234"
# clone_id    = "vol-1234"

# How jobs may use it. At least one.
capability {
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}

mount_options {
  fs_type     = "ext4"
  mount_flags = ["noatime"]
}

# Where it must, or should, be reachable from.
# topology_request {
#   required {
#     topology { segments { rack = "R1" } }
#   }
# }

# For the plugin. No answer of the API shows the secrets.
# secrets {
#   password = "example"
# }
parameters {
  kind = "fast"
}
`;

export const EXAMPLE_VOLUME_JSON = `{
  "Type": "csi",
  "ID": "database",
  "Name": "database",
  "Namespace": "default",
  "PluginID": "disks",
  "RequestedCapacityMin": 10737418240,
  "RequestedCapacityMax": 21474836480,
  "RequestedCapabilities": [
    {
      "AccessMode": "single-node-writer",
      "AttachmentMode": "file-system"
    }
  ],
  "MountOptions": {
    "FSType": "ext4",
    "MountFlags": ["noatime"]
  },
  "Parameters": {
    "kind": "fast"
  }
}
`;

export const EXAMPLE_HOST_VOLUME_HCL = `# A directory of one machine, made by a plugin of its agent.
name      = "scratch"
namespace = "default"
type      = "host"

# "mkdir" is built in.
plugin_id = "mkdir"

# On which machine: one that fits, unless it is named.
# node_id   = "..."
# node_pool = "default"
constraint {
  attribute = "\${attr.kernel.name}"
  value     = "linux"
}

capability {
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}

parameters {
  mode = "0700"
}
`;

export const EXAMPLE_HOST_VOLUME_JSON = `{
  "Type": "host",
  "Name": "scratch",
  "Namespace": "default",
  "PluginID": "mkdir",
  "RequestedCapabilities": [
    {
      "AccessMode": "single-node-writer",
      "AttachmentMode": "file-system"
    }
  ],
  "Parameters": {
    "mode": "0700"
  }
}
`;
