{{/* The chart's name, as labels have it. */}}
{{- define "evenpack.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" }}
{{- end }}

{{/*
The name of objects: at most 50 characters, so that `-headless` fits behind it. Some are
Services, whose names have no dot and begin with a letter; a release's name may do without.
*/}}
{{- define "evenpack.fullname" -}}
{{- $name := include "evenpack.name" . -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- $full = default $full .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $full) }}
{{- fail (printf "fullnameOverride: none, and '%s', by the release's name, is not accepted for a Service; accepted: a-z, 0-9 and -, beginning with a letter" $full) }}
{{- end }}
{{- $full }}
{{- end }}

{{/*
What selects a component's pods. Takes a dict of context and component. Names are quoted here
and elsewhere, since YAML takes 42 for a number and `true` for no text.
*/}}
{{- define "evenpack.selector" -}}
app.kubernetes.io/name: {{ include "evenpack.name" .context | quote }}
app.kubernetes.io/instance: {{ .context.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/*
Labels of a component's pods: none that changes with the chart's version, which would
start them anew. Of one that is given twice the selector's is taken, then the component's.
Takes a dict of context, component and values: the component's.
*/}}
{{- define "evenpack.podLabels" -}}
{{- $own := include "evenpack.selector" . | fromYaml -}}
{{- merge $own (default (dict) .values.podLabels) (default (dict) .context.Values.commonLabels) | toYaml }}
{{- end }}

{{- define "evenpack.chartLabels" -}}
app.kubernetes.io/version: {{ .context.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .context.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .context.Chart.Name .context.Chart.Version | replace "+" "_" }}
{{- end }}

{{/*
Labels of a component's objects. Of one that is given twice the chart's is taken, then the
object's. Takes a dict of context and component, and perhaps labels of the object's own.
*/}}
{{- define "evenpack.labels" -}}
{{- $own := include "evenpack.selector" . | fromYaml -}}
{{- $chart := include "evenpack.chartLabels" . | fromYaml -}}
{{- merge $own $chart (default (dict) .labels) (default (dict) .context.Values.commonLabels) | toYaml }}
{{- end }}

{{/*
The metadata of an object. Takes a dict of context, component, name, and perhaps labels
and annotations of the object's own.
*/}}
{{- define "evenpack.metadata" -}}
name: {{ .name | quote }}
namespace: {{ .context.Release.Namespace | quote }}
labels:
  {{- include "evenpack.labels" . | nindent 2 }}
{{- with merge (dict) (default (dict) .annotations) (default (dict) .context.Values.commonAnnotations) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* An image's reference. Takes a dict of context and image. */}}
{{- define "evenpack.image" -}}
{{- with .context.Values.image.registry }}{{ trimSuffix "/" . }}/{{ end }}
{{- .image.repository }}
{{- if .image.digest }}@{{ .image.digest }}
{{- else }}:{{ .image.tag | default .context.Chart.AppVersion }}
{{- end }}
{{- end }}

{{- define "evenpack.serviceAccountName" -}}
{{- $own := ternary (include "evenpack.fullname" .) "default" .Values.serviceAccount.create -}}
{{- default $own .Values.serviceAccount.name }}
{{- end }}

{{/* HOST:PORT by which agents, sidecars and the test reach the server. */}}
{{- define "evenpack.serverAddress" -}}
{{- if .Values.server.enabled -}}
{{- printf "%s.%s.svc:%d" (include "evenpack.fullname" .) .Release.Namespace (int .Values.server.ports.grpc) }}
{{- else -}}
{{- required "externalServer: '' is not accepted where server.enabled is false and agents or sidecars need a server; accepted: HOST:PORT" .Values.externalServer }}
{{- end }}
{{- end }}
