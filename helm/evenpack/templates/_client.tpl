{{/*
The Secret whose ca.crt verifies the server to agents, sidecars and the test; nothing where
they reach it in plaintext.
*/}}
{{- define "evenpack.clientCaSecret" -}}
{{- $own := ternary (include "evenpack.tlsSecret" .) "" .Values.server.enabled -}}
{{- if and .Values.client.caSecret .Values.server.enabled (not $own) -}}
{{- fail (printf "client.caSecret: '%s' is not accepted where the server has no TLS; accepted: with tls.existingSecret or tls.certManager.enabled" .Values.client.caSecret) }}
{{- end -}}
{{- default $own .Values.client.caSecret }}
{{- end }}

{{/*
What a client of the server has of TLS and of an identity: environment variables, a volume
and its mount. Each takes a dict of context, component: its name in values, and identity:
its values, and perhaps name: the volume's. All are nothing where the server is reached in
plaintext.
*/}}
{{- define "evenpack.clientEnv" -}}
{{- $identity := .identity -}}
{{- if include "evenpack.clientCaSecret" .context -}}
- name: EVENPACK_TLS_CA
  value: /etc/evenpack-client/ca.crt
{{- with .context.Values.client.serverName }}
- name: EVENPACK_TLS_SERVER_NAME
  value: {{ . | quote }}
{{- end }}
{{- if $identity.certificateSecret }}
- name: EVENPACK_TLS_CERTIFICATE
  value: /etc/evenpack-client/tls.crt
- name: EVENPACK_TLS_KEY
  value: /etc/evenpack-client/tls.key
{{- end }}
{{- if $identity.tokenSecret }}
- name: EVENPACK_TOKEN_FILE
  value: /etc/evenpack-client/token
{{- end }}
{{- else if or $identity.certificateSecret $identity.tokenSecret -}}
{{- fail (printf "%s.identity: not accepted where the server is reached without TLS; accepted: with tls.existingSecret, tls.certManager.enabled, or client.caSecret for an externalServer" .component) }}
{{- end }}
{{- end }}

{{- define "evenpack.clientMounts" -}}
{{- if include "evenpack.clientCaSecret" .context -}}
- name: {{ .name | default "credentials" }}
  mountPath: /etc/evenpack-client
  readOnly: true
{{- end }}
{{- end }}

{{/* Of each Secret only what is needed: the server's has its key, too. */}}
{{- define "evenpack.clientVolumes" -}}
{{- $identity := .identity -}}
{{- with include "evenpack.clientCaSecret" .context -}}
- name: {{ $.name | default "credentials" }}
  projected:
    sources:
      - secret:
          name: {{ . | quote }}
          items: [{key: ca.crt, path: ca.crt}]
      {{- with $identity.certificateSecret }}
      - secret:
          name: {{ . | quote }}
          items: [{key: tls.crt, path: tls.crt}, {key: tls.key, path: tls.key}]
      {{- end }}
      {{- with $identity.tokenSecret }}
      - secret:
          name: {{ . | quote }}
          items: [{key: {{ $identity.tokenKey | quote }}, path: token}]
      {{- end }}
{{- end }}
{{- end }}
