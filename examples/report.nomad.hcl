# A batch job with artifacts: fetches a program and its data, checks the data against a checksum, and writes a report.
#
#   waybill job run examples/report.nomad.hcl
#   waybill alloc logs -job report
#
# Needs a machine with Docker, and the two files on a web server of yours in place of artifacts.example.com.

job "report" {
  datacenters = ["dc1"]
  type        = "batch"

  group "report" {
    count = 1

    restart {
      attempts = 3
      interval = "30m"
      delay    = "5s"
      mode     = "fail"
    }

    task "totals" {
      driver = "docker"

      artifact {
        source      = "http://artifacts.example.com/totals-1.2.tar.gz"
        destination = "local/totals"
      }

      artifact {
        source      = "http://artifacts.example.com/orders.csv"
        destination = "local/orders.csv"
        mode        = "file"

        options {
          checksum = "sha256:f2064f40762c7cf3edfd5ae52bdc4b003cc0a3b79f323e5210a79657d43ffc7f"
        }
      }

      config {
        image   = "busybox:1.36"
        command = "/bin/sh"
        args    = ["${NOMAD_TASK_DIR}/totals/totals.sh", "${NOMAD_TASK_DIR}/orders.csv"]
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
