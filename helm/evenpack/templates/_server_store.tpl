{{/* The value of --store. */}}
{{- define "evenpack.store" -}}
{{- if eq .Values.store.kind "sqlite" -}}
sqlite:/var/lib/evenpack/store
{{- else if eq .Values.store.kind "memory" -}}
memory
{{- else -}}
{{- $target := .Values.store.postgresql.target -}}
{{- if not $target -}}
{{- fail "store.postgresql.target: '' is not accepted where store.kind is postgresql; accepted: how libpq reaches the database, without the password" }}
{{- end -}}
{{- /* Not shown, since it is where somebody's password may be. */}}
{{- if or (regexMatch `(^|[\s\v?&'])(ssl)?password[\s\v]*=` $target) (regexMatch `^postgres(ql)?://([^?@]*:[^?@]*|[^/@]*:[^/@]*)@` $target) -}}
{{- fail "store.postgresql.target: one with a password is not accepted, since everybody who sees the release would read it; accepted: the password in store.postgresql.existingSecret" }}
{{- end -}}
{{- /* libpq decodes names, so that any may be that of the password. */}}
{{- if regexMatch `(?s)^postgres(ql)?://.*[?&][^=&]*%[^=&]*=` $target -}}
{{- fail "store.postgresql.target: '%' in a parameter's name is not accepted, since a password may stand behind it; accepted: names as libpq's manual has them" }}
{{- end -}}
{{- if not (regexMatch "^postgres(ql)?://[^ ]+$|^[a-z_]+ *=.+$" $target) -}}
{{- fail "store.postgresql.target: not accepted, nor shown, since a password may stand in it; accepted: postgresql://USER@HOST/DATABASE, or parameters of libpq such as host=HOST dbname=DATABASE" }}
{{- end -}}
{{- ternary $target (printf "postgresql:%s" $target) (hasPrefix "postgresql://" $target) }}
{{- end }}
{{- end }}

{{/* Refuses more servers than a store has room for. */}}
{{- define "evenpack.checkReplicas" -}}
{{- if and (gt (int .Values.server.replicas) 1) (ne .Values.store.kind "postgresql") -}}
{{- fail (printf "server.replicas: %d is not accepted where store.kind is %s, which one server has to itself; accepted: 0, 1, or more with store.kind postgresql" (int .Values.server.replicas) .Values.store.kind) }}
{{- end }}
{{- end }}

{{/* HOST:PORT by which clients are sent to one server of several. */}}
{{- define "evenpack.advertise" -}}
{{- $own := printf "$(POD_NAME).%s-headless.%s.svc:%d" (include "evenpack.fullname" .) .Release.Namespace (int .Values.server.ports.grpc) -}}
{{- default $own .Values.server.advertise }}
{{- end }}

{{/* Environment variables of a server on a database, as a list. */}}
{{- define "evenpack.databaseEnv" -}}
{{- if eq .Values.store.kind "postgresql" -}}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- with .Values.store.postgresql }}
{{- if .existingSecret }}
# Not in a file: libpq takes none that its group may read, as a pod's user may its Secrets.
- name: PGPASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ .existingSecret | quote }}
      key: {{ .secretKey | quote }}
{{- end }}
{{- if .caSecret }}
- name: PGSSLROOTCERT
  value: /etc/evenpack-database/ca.crt
{{- end }}
{{- end }}
{{- end }}
{{- end }}
