# A web server behind a proxy: two instances on the bridge with health checks, and an nginx that finds them by itself.
#
#   waybill job run examples/web-proxy.nomad.hcl
#   curl http://<address of a machine>:8080/
#
# Needs machines with Docker and CNI plugins (docs/networking.md), and an image of yours in place of example/shop-web.

job "shop" {
  datacenters = ["dc1"]
  type        = "service"

  group "web" {
    count          = 2
    shutdown_delay = "1s"

    network {
      mode = "bridge"

      port "http" {
        to = 8000
      }
    }

    service {
      name     = "shop-web"
      port     = "http"
      provider = "nomad"
      tags     = ["shop", "v1.4"]

      check {
        name     = "alive"
        type     = "http"
        path     = "/health"
        interval = "2s"
        timeout  = "2s"

        check_restart {
          limit = 3
          grace = "30s"
        }
      }

      check {
        name     = "port"
        type     = "tcp"
        interval = "5s"
        timeout  = "2s"
      }
    }

    update {
      max_parallel     = 1
      min_healthy_time = "1s"
      healthy_deadline = "2m"
      auto_revert      = true
    }

    task "server" {
      driver = "docker"

      config {
        image = "example/shop-web:1.4"
        ports = ["http"]
      }

      env {
        PORT = "${NOMAD_PORT_http}"
        NAME = "${NOMAD_ALLOC_NAME}"
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }

  group "proxy" {
    shutdown_delay = "1s"

    network {
      port "http" {
        static = 8080
        to     = 80
      }
    }

    service {
      name     = "shop-proxy"
      port     = "http"
      provider = "nomad"

      check {
        type     = "http"
        path     = "/"
        interval = "2s"
        timeout  = "2s"
      }
    }

    task "nginx" {
      driver = "docker"

      config {
        image   = "nginx:1.27"
        ports   = ["http"]
        volumes = ["local/conf.d:/etc/nginx/conf.d"]
      }

      # Written anew when an instance comes or goes; nginx reads its configuration again on SIGHUP.
      template {
        destination   = "local/conf.d/default.conf"
        change_mode   = "signal"
        change_signal = "SIGHUP"

        data = <<-EOT
          upstream shop {
          {{- range nomadService "shop-web" }}
            server {{ .Address }}:{{ .Port }};
          {{- else }}
            server 127.0.0.1:65535; # none yet: nginx answers 502
          {{- end }}
          }

          server {
            listen 80;

            location / {
              proxy_pass http://shop;
            }
          }
        EOT
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
