{{/* The namespace of the agents. */}}
{{- define "waybill.agentsNamespace" -}}
{{- .Values.agents.namespace | default (printf "%s-agents" .Release.Namespace) -}}
{{- end -}}

{{/* The image of a part: a list of the root context and "waybill", "nats" or "postgres". */}}
{{- define "waybill.image" -}}
{{- $root := index . 0 -}}
{{- $part := index . 1 -}}
{{- $image := $root.Values.image -}}
{{- if ne $part "waybill" -}}
{{- $image = (index $root.Values $part).image -}}
{{- end -}}
{{- printf "%s:%s" $image.repository ($image.tag | default $root.Chart.AppVersion) -}}
{{- end -}}

{{/* What the schema of the values cannot say. */}}
{{- define "waybill.refusals" -}}
{{- if and .Values.tls.enabled (eq (int .Values.nats.replicas) 1) -}}
{{- fail "tls.enabled needs nats.replicas=3" -}}
{{- end -}}
{{- if and .Values.agents.enabled (eq (include "waybill.agentsNamespace" .) .Release.Namespace) -}}
{{- fail "agents.namespace must be another namespace than that of the release: agents are privileged" -}}
{{- end -}}
{{- if and .Values.agents.hostNetwork (not .Values.natsCredentials.enabled) -}}
{{- fail "agents.hostNetwork needs natsCredentials.enabled: it opens NATS to every address" -}}
{{- end -}}
{{- end -}}
