# A periodic job: every minute a small report, never two at once.
#
#   waybill job run examples/periodic.nomad.hcl
#   waybill job status periodic                   # lists what has been launched
#
# Needs nothing but /bin/sh.

job "periodic" {
  type = "batch"

  periodic {
    crons            = ["* * * * *"]
    time_zone        = "UTC"
    prohibit_overlap = true
  }

  group "report" {
    task "uptime" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "echo \"$NOMAD_JOB_NAME at $(date -u +%H:%M:%S)\""]
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
