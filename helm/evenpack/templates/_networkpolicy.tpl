{{/*
Who may connect to the ports grpc and http. The kubelet may always: its probes need no
rule. So may the release's own pods, at the port grpc: agents, and that of `helm test`.
By number: a network plugin may take a name for all ports. Takes a dict of context and
ports.
*/}}
{{- define "evenpack.ingress" -}}
{{- $context := .context -}}
- ports:
    - port: {{ .ports.grpc }}
      protocol: TCP
  {{- with $context.Values.networkPolicy.clients }}
  from:
    - podSelector:
        matchLabels:
          app.kubernetes.io/name: {{ include "evenpack.name" $context | quote }}
          app.kubernetes.io/instance: {{ $context.Release.Name | quote }}
    {{- toYaml . | nindent 4 }}
  {{- end }}
- ports:
    - port: {{ .ports.http }}
      protocol: TCP
  {{- with $context.Values.networkPolicy.scrapers }}
  from:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
