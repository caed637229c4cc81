{{/*
Who may connect to the ports grpc and http. The kubelet may always: its probes need no
rule. Takes the chart's context.
*/}}
{{- define "evenpack.ingress" -}}
- ports:
    - port: grpc
      protocol: TCP
  {{- with .Values.networkPolicy.clients }}
  from:
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
