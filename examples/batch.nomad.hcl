# A batch job: three workers in parallel, each with its own share of the work; done when all have succeeded.
#
#   waybill job run examples/batch.nomad.hcl
#   waybill job status batch
#
# Needs nothing but /bin/sh. A worker that fails is started again twice on its machine.

locals {
  shares = { first = "1 33", second = "34 66", third = "67 100" }
}

job "batch" {
  type = "batch"

  # One group for each share, in the order of the names.
  dynamic "group" {
    for_each = local.shares
    iterator = share
    labels   = [share.key]

    content {
      restart {
        attempts = 2
        delay    = "1s"
        mode     = "fail"
      }

      task "sum" {
        driver = "raw_exec"

        config {
          command = "/bin/sh"
          args    = ["-c", "sum=0; for n in $(seq ${share.value}); do sum=$((sum + n)); done; echo \"sum: $sum\""]
        }

        resources {
          cpu    = 100
          memory = 32
        }
      }
    }
  }
}
