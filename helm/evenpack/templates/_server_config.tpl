{{/*
The server's flags, as its --config file has them. JSON's numbers and texts are YAML's,
and toJson writes large numbers without an exponent.
*/}}
{{- define "evenpack.serverConfig" -}}
{{- $server := .Values.server -}}
{{- include "evenpack.checkPorts" (dict "component" "server" "ports" $server.ports) -}}
listen: {{ printf "%s:%d" $server.bindAddress (int $server.ports.grpc) | toJson }}
http-listen: {{ printf "%s:%d" $server.bindAddress (int $server.ports.http) | toJson }}
health-listen: {{ printf "%s:%d" $server.bindAddress (int $server.ports.health) | toJson }}
{{ include "evenpack.securityConfig" . }}
store: {{ include "evenpack.store" . | toJson }}
drain-seconds: {{ int $server.drainSeconds }}
{{- range $flag, $value := $server.config }}
{{- if not (kindIs "invalid" $value) }}
{{ $flag }}: {{ $value | toJson }}
{{- end }}
{{- end }}
{{- end }}
