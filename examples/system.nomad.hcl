# A system job: one instance on every machine that fits, also on those that join later.
#
#   waybill job run examples/system.nomad.hcl
#   waybill job status system
#
# Needs nothing but /bin/sh. The constraint keeps it to Linux; the affinity of other jobs has no meaning here.

job "system" {
  type        = "system"
  datacenters = ["*"]
  node_pool   = "all"

  constraint {
    attribute = "${attr.kernel.name}"
    value     = "linux"
  }

  group "monitor" {
    task "load" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "while true; do cut -d' ' -f1-3 /proc/loadavg; sleep 10 & wait $!; done"]
      }

      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
