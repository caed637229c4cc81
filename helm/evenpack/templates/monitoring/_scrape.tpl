{{/*
A target's label `job`, by the name that rules and dashboards know, and the series' own
label of that name, a training job's, which stays. Takes the name.
*/}}
{{- define "evenpack.scrapeLabels" -}}
honorLabels: true
relabelings:
  - targetLabel: job
    replacement: {{ . }}
{{- end }}
