# What happens when a machine, or a task, is lost: restarts on the spot, replacements elsewhere, machines that come back.
#
#   waybill job run examples/disconnect.nomad.hcl
#   waybill job status disconnect                 # "Unknown" counts instances on machines nobody hears of
#
# Needs nothing but /bin/sh. Stop a machine's agent (or its network) for a minute to see it at work; with one machine
# there is nowhere to go, and the replacements wait.

job "disconnect" {
  group "app" {
    count = 2

    # A machine that is silent is given ten minutes. Meanwhile its instances are replaced elsewhere; when it comes back in
    # time, the ones that have run longest stay, and the others are stopped.
    disconnect {
      lost_after = "10m"
      replace    = true
      reconcile  = "longest_running"
    }

    # A task that fails is started again where it is, three times within five minutes …
    restart {
      attempts = 3
      interval = "5m"
      delay    = "2s"
      mode     = "fail"
    }

    # … and then somewhere else, with growing pauses, for ever.
    reschedule {
      delay          = "5s"
      delay_function = "exponential"
      max_delay      = "5m"
      unlimited      = true
    }

    # Long enough to keep what is on disk while an instance moves.
    ephemeral_disk {
      size    = 150
      migrate = true
      sticky  = true
    }

    task "count" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          "while true; do echo . >> \"$NOMAD_ALLOC_DIR/data/beats\"; wc -l < \"$NOMAD_ALLOC_DIR/data/beats\"; sleep 5 & wait $!; done",
        ]
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
