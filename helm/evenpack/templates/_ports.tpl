{{/*
Nothing, where a component's ports differ from each other: it listens on all of them.
Takes a dict of component and ports.
*/}}
{{- define "evenpack.checkPorts" -}}
{{- $numbers := list -}}
{{- range $name, $port := .ports }}
{{- if has (int $port) $numbers }}
{{- fail (printf "%s.ports.%s: %d is not accepted, as another port of it is the same; accepted: one of its own" $.component $name (int $port)) }}
{{- end }}
{{- $numbers = append $numbers (int $port) }}
{{- end }}
{{- end }}
