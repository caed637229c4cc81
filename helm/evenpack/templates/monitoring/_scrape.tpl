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

{{/*
How often a target is scraped, and how long that may take. The operator leaves out a target
with a timeout beyond its interval, and says so in its own log alone. Takes a dict of name:
the monitor's in `metrics`, and monitor: its values.
*/}}
{{- define "evenpack.scrapeTimes" -}}
{{- $interval := .monitor.interval -}}
interval: {{ $interval }}
{{- with .monitor.scrapeTimeout }}
{{- if gt (include "evenpack.milliseconds" . | atoi) (include "evenpack.milliseconds" $interval | atoi) }}
{{- fail (printf "metrics.%s.scrapeTimeout: '%s' is not accepted where interval is '%s'; accepted: at most that, or '' for Prometheus' own" $.name . $interval) }}
{{- end }}
scrapeTimeout: {{ . }}
{{- end }}
{{- end }}

{{/* A duration such as 1m30s, in milliseconds. */}}
{{- define "evenpack.milliseconds" -}}
{{- $units := dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000 "d" 86400000 -}}
{{- $sum := 0 -}}
{{- range regexFindAll "[0-9]+[a-z]+" . -1 -}}
{{- $sum = add $sum (mul (regexFind "^[0-9]+" . | atoi) (get $units (regexFind "[a-z]+$" .))) -}}
{{- end -}}
{{- $sum -}}
{{- end }}
