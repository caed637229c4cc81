{{/* The Secret with the server's certificate; nothing where its port is plaintext. */}}
{{- define "evenpack.tlsSecret" -}}
{{- $tls := .Values.tls -}}
{{- if and $tls.existingSecret $tls.certManager.enabled -}}
{{- fail (printf "tls.existingSecret: '%s' is not accepted where tls.certManager.enabled is true; accepted: one of the two" $tls.existingSecret) }}
{{- end -}}
{{- if $tls.certManager.enabled -}}
{{- include "evenpack.fullname" . }}-tls
{{- else -}}
{{- $tls.existingSecret | default "" }}
{{- end }}
{{- end }}

{{/* The volume's source with the file of roles; nothing where there are no roles. */}}
{{- define "evenpack.rolesSource" -}}
{{- $roles := .Values.roles -}}
{{- $given := list -}}
{{- range $name := list "grants" "existingConfigMap" "existingSecret" -}}
{{- if get $roles $name }}{{ $given = append $given $name }}{{ end -}}
{{- end -}}
{{- if gt (len $given) 1 -}}
{{- fail (printf "roles: %s together are not accepted; accepted: one of grants, existingConfigMap, existingSecret" (join " and " $given)) }}
{{- end -}}
{{- if $roles.grants -}}
configMap:
  name: {{ include "evenpack.fullname" . }}-roles
{{- else if $roles.existingConfigMap -}}
configMap:
  name: {{ $roles.existingConfigMap | quote }}
{{- else if $roles.existingSecret -}}
secret:
  secretName: {{ $roles.existingSecret | quote }}
{{- end }}
{{- end }}

{{/*
The server's flags about who gets in and what they may do. A pod is reached by others than
its own machine: without both TLS and roles the server asks that this is meant, and by whom
it is reached a NetworkPolicy says.
*/}}
{{- define "evenpack.securityConfig" -}}
{{- $tls := include "evenpack.tlsSecret" . -}}
{{- $roles := include "evenpack.rolesSource" . -}}
{{- if and $roles (not $tls) -}}
{{- fail "roles: not accepted where the server has no TLS, by which it tells callers apart; accepted: with tls.existingSecret or tls.certManager.enabled" }}
{{- end -}}
{{- include "evenpack.checkGrants" . -}}
{{- $local := regexMatch `^(127\.|\[::1\])` .Values.server.bindAddress -}}
{{- if and $roles (not $local) (eq (get (default dict .Values.server.config) "channelz" | toString) "on") -}}
{{- fail "server.config.channelz: 'on' is not accepted with roles where others reach the server, since it asks for no role; accepted: auto, off" }}
{{- end -}}
{{- if $tls -}}
tls-certificate: /etc/evenpack-tls/tls.crt
tls-key: /etc/evenpack-tls/tls.key
{{ end -}}
{{- if ne .Values.tls.clientCertificates "none" -}}
{{- if not $tls -}}
{{- fail (printf "tls.clientCertificates: '%s' is not accepted where the server has no TLS; accepted: none, or with tls.existingSecret or tls.certManager.enabled" .Values.tls.clientCertificates) }}
{{- end -}}
tls-client-ca: /etc/evenpack-{{ ternary "tls" "client-ca" (empty .Values.tls.clientCaSecret) }}/ca.crt
tls-client-certificates: {{ .Values.tls.clientCertificates }}
{{ else if .Values.tls.clientCaSecret -}}
{{- fail (printf "tls.clientCaSecret: '%s' is not accepted where tls.clientCertificates is none; accepted: with request or require" .Values.tls.clientCaSecret) }}
{{- end -}}
{{- if $roles -}}
roles: /etc/evenpack-roles/roles.yaml
{{- else -}}
insecure: true
{{- end }}
{{- end }}

{{/*
The server's volumes of these files. Folders, since a file that is mounted by subPath does
not follow its Secret.
*/}}
{{- define "evenpack.securityVolumes" -}}
{{- with include "evenpack.tlsSecret" . }}
- name: tls
  secret:
    secretName: {{ . | quote }}
{{- end }}
{{- with .Values.tls.clientCaSecret }}
- name: client-ca
  secret:
    secretName: {{ . | quote }}
    # Nothing else of it is needed.
    items: [{key: ca.crt, path: ca.crt}]
{{- end }}
{{- with include "evenpack.rolesSource" . }}
- name: roles
  {{- . | nindent 2 }}
{{- end }}
{{- end }}
