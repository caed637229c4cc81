{{/*
Who may connect to the ports grpc and http. The kubelet may always: its probes need no
rule. So may the release's own pods, at the port grpc: agents, and that of `helm test`.
Takes the chart's context.
*/}}
{{- define "evenpack.ingress" -}}
- ports:
    - port: grpc
      protocol: TCP
  {{- with .Values.networkPolicy.clients }}
  from:
    - podSelector:
        matchLabels:
          app.kubernetes.io/name: {{ include "evenpack.name" $ }}
          app.kubernetes.io/instance: {{ $.Release.Name }}
    {{- toYaml . | nindent 4 }}
  {{- end }}
- ports:
    - port: http
      protocol: TCP
  {{- with .Values.networkPolicy.scrapers }}
  from:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
