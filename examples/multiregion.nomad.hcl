# One job in two regions, rolled out to one after the other: west first, and east only when west is healthy.
#
#   waybill job validate examples/multiregion.nomad.hcl
#   waybill job run examples/multiregion.nomad.hcl      # where both regions exist
#
# Needs two federated regions named west and east. If the second fails, both go back to the version before.

job "multiregion" {
  datacenters = ["*"]

  multiregion {
    strategy {
      max_parallel = 1
      on_failure   = "fail_all"
    }

    region "west" {
      count       = 2
      datacenters = ["west-1"]
    }

    region "east" {
      count       = 1
      datacenters = ["east-1", "east-2"]

      meta {
        tier = "backup"
      }
    }
  }

  update {
    max_parallel     = 1
    min_healthy_time = "2s"
    healthy_deadline = "1m"
    auto_revert      = true
  }

  group "app" {
    # Each region says how many.
    count = 0

    task "wait" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "echo \"region $NOMAD_REGION\"; exec sleep 100000"]
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
