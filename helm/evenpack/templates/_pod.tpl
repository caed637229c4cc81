{{/*
What all pods have. Takes a dict of context and values: those of the component, whose
scheduling it reads where it has any.
*/}}
{{- define "evenpack.pod" -}}
serviceAccountName: {{ include "evenpack.serviceAccountName" .context | quote }}
automountServiceAccountToken: false
# Variables for every Service of the namespace would be read by nobody.
enableServiceLinks: false
securityContext:
  {{- toYaml (default (dict) .context.Values.podSecurityContext) | nindent 2 }}
{{- range $key := list "nodeSelector" "affinity" "tolerations" }}
{{- with get $.values $key }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .context.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What all containers have. Takes a dict of context and values: the component's. */}}
{{- define "evenpack.container" -}}
image: {{ include "evenpack.image" (dict "context" .context "image" .values.image) | quote }}
imagePullPolicy: {{ .context.Values.image.pullPolicy }}
securityContext:
  {{- toYaml (default (dict) .context.Values.containerSecurityContext) | nindent 2 }}
resources:
  {{- toYaml (default (dict) .values.resources) | nindent 2 }}
{{- end }}

{{/* A probe by grpc.health.v1. Takes a dict of port, service and probe: its times. */}}
{{- define "evenpack.grpcProbe" -}}
grpc:
  port: {{ .port }}
  service: {{ .service | quote }}
{{- with .probe }}
{{ toYaml . }}
{{- end }}
{{- end }}
