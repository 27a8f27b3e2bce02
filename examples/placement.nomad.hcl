# Where instances go: constraints say where they may run, affinities where they would rather, spread keeps them apart.
#
#   waybill job plan examples/placement.nomad.hcl
#   waybill job run -var replicas=4 examples/placement.nomad.hcl
#
# Needs nothing but /bin/sh. With one machine all instances share it: spread and affinity are wishes, not conditions.

variables {
  replicas   = 2
  datacenter = "dc1"
}

job "placement" {
  datacenters = ["*"]

  # Only machines that can run the task's driver and have Linux.
  constraint {
    attribute = "${attr.kernel.name}"
    value     = "linux"
  }

  affinity {
    attribute = "${node.datacenter}"
    value     = var.datacenter
    weight    = 50
  }

  spread {
    attribute = "${node.unique.id}"
    weight    = 100
  }

  group "app" {
    count = max(1, var.replicas)

    task "wait" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "echo \"on $NODE in $DATACENTER\"; exec sleep 100000"]
      }

      env {
        NODE       = "${node.unique.name}"
        DATACENTER = "${node.datacenter}"
      }

      resources {
        cpu    = var.replicas > 10 ? 20 : 50
        memory = 32
      }
    }
  }
}
