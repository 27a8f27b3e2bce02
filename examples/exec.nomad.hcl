# A service that is kept apart from its machine: a root of its own, its own processes, no rights, a limit of memory.
#
#   waybill job run examples/exec.nomad.hcl
#   waybill alloc logs -job exec
#   waybill alloc exec -job exec /bin/sh          # in its root, as its user
#
# Needs an agent that runs as root on Linux. Where none does, the evaluation says so: the constraint that the driver
# makes, `missing drivers`, filters every machine, and the job waits until one comes.

job "exec" {
  group "apart" {
    task "server" {
      driver = "exec"

      # Of the machine; `nobody` without this line.
      user = "nobody"

      config {
        command  = "/bin/sh"
        args     = ["-c", "id; ls /; cat $NOMAD_TASK_DIR/greeting; while true; do sleep 10 & wait $!; done"]
        cap_drop = ["all"]
      }

      template {
        destination = "${NOMAD_TASK_DIR}/greeting"
        data        = "Hello from {{ env \"NOMAD_TASK_DIR\" }}\n"
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
