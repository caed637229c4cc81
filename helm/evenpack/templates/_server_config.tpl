{{/*
The server's flags, as its --config file has them. JSON's numbers and texts are YAML's,
and toJson writes large numbers without an exponent.
*/}}
{{- define "evenpack.serverConfig" -}}
{{- $server := .Values.server -}}
listen: {{ printf "%s:%d" $server.bindAddress (int $server.ports.grpc) | toJson }}
http-listen: {{ printf "%s:%d" $server.bindAddress (int $server.ports.http) | toJson }}
health-listen: {{ printf "%s:%d" $server.bindAddress (int $server.ports.health) | toJson }}
store: {{ include "evenpack.store" . | toJson }}
drain-seconds: {{ int $server.drainSeconds }}
{{- range $flag, $value := $server.config }}
{{- if not (kindIs "invalid" $value) }}
{{ $flag }}: {{ $value | toJson }}
{{- end }}
{{- end }}
{{- end }}

{{/* The value of --store. */}}
{{- define "evenpack.store" -}}
{{- if eq .Values.store.kind "sqlite" -}}
sqlite:/var/lib/evenpack/store
{{- else if eq .Values.store.kind "memory" -}}
memory
{{- else -}}
{{- fail (printf "store.kind: '%s' is not accepted, since this chart deploys no server on a database yet; accepted: sqlite, memory" .Values.store.kind) }}
{{- end }}
{{- end }}
