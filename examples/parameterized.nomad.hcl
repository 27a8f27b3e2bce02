# A parameterized job: a template that runs once for every dispatch, with the dispatch's own name and payload.
#
#   waybill job run examples/parameterized.nomad.hcl
#   echo "some text" | waybill job dispatch -meta name=Ann parameterized -
#
# Needs nothing but /bin/sh.

job "parameterized" {
  type = "batch"

  parameterized {
    payload       = "optional"
    meta_required = ["name"]
    meta_optional = ["language"]
  }

  # What a dispatch does not say.
  meta {
    language = "en"
  }

  group "greeting" {
    task "greet" {
      driver = "raw_exec"

      dispatch_payload {
        file = "input.txt"
      }

      config {
        command = "/bin/sh"
        args = [
          "-c",
          "echo \"($NOMAD_META_language) hello $NOMAD_META_name\"; cat \"$NOMAD_TASK_DIR/input.txt\" 2>/dev/null || true",
        ]
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
