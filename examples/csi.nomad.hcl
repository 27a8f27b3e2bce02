# A disk that follows its task: a volume of a CSI plugin, claimed by one writer at a time.
#
#   waybill volume create examples/csi.volume.hcl
#   waybill job run examples/csi.nomad.hcl
#   waybill alloc logs -job csi                   # one line more after every restart, on whatever machine
#
# Needs a CSI plugin that runs on the machines; docs/volumes.md shows how. Without it, or without the volume, the job is
# taken and waits.

job "csi" {
  group "app" {
    volume "notes" {
      type            = "csi"
      source          = "notes"
      access_mode     = "single-node-writer"
      attachment_mode = "file-system"

      mount_options {
        fs_type     = "ext4"
        mount_flags = ["noatime"]
      }
    }

    task "append" {
      driver = "raw_exec"

      volume_mount {
        volume      = "notes"
        destination = "notes"
      }

      config {
        command = "/bin/sh"
        args    = ["-c", "date >> notes/starts; cat notes/starts; exec sleep 100000"]
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
