# One job in two regions, rolled out to one after the other: west first, and east only when west is healthy.
#
#   waybill job validate examples/multiregion.nomad.hcl
#   waybill job run examples/multiregion.nomad.hcl
#
# Needs two regions named west and east that know each other: docs/deployments.md starts them on one machine. If the second
# fails, both go back to the version before.

job "multiregion" {
  datacenters = ["*"]

  multiregion {
    strategy {
      max_parallel = 1
      on_failure   = "fail_all"
    }

    region "west" {
      count       = 2
      datacenters = ["dc1"]
    }

    region "east" {
      count       = 1
      datacenters = ["dc1"]

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
