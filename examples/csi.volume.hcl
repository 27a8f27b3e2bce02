# The volume that examples/csi.nomad.hcl uses: a gigabyte that one task at a time may write.
#
#   waybill volume create examples/csi.volume.hcl
#   waybill volume status notes
#
# Needs a CSI plugin with the ID "disks" that can create volumes: waybill plugin status

id        = "notes"
name      = "notes"
type      = "csi"
plugin_id = "disks"

capacity_min = "1GiB"
capacity_max = "2GiB"

capability {
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}

mount_options {
  fs_type     = "ext4"
  mount_flags = ["noatime"]
}
