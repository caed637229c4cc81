{{/* Refuses grants that the server would, with what can't be said in the schema. */}}
{{- define "evenpack.checkGrants" -}}
{{- $names := dict -}}
{{- range $i, $grant := .Values.roles.grants -}}
{{- if not (or $grant.subjects $grant.tokens) -}}
{{- fail (printf "roles.grants[%d]: neither subjects nor tokens; accepted: at least one of either" $i) }}
{{- end -}}
{{- range $j, $subject := $grant.subjects -}}
{{- if not (include "evenpack.isSubject" $subject) -}}
{{- fail (printf "roles.grants[%d].subjects[%d]: '%s' is no subject; accepted: a distinguished name as 'CN=ops' or 'CN=ops,O=Example' without spaces around '=' and ',', a URI as 'spiffe://HOST/PATH', 'dns:NAME'" $i $j $subject) }}
{{- end -}}
{{- end -}}
{{- range $j, $token := $grant.tokens -}}
{{- $name := regexReplaceAll ":.*$" $token "" -}}
{{- $hash := regexReplaceAll "^.*:" $token "" | lower -}}
{{- $known := get $names $hash | default $name -}}
{{- if ne $known $name -}}
{{- fail (printf "roles.grants[%d].tokens[%d]: the token of '%s' is that of '%s' as well; accepted: one name for a token" $i $j $name $known) }}
{{- end -}}
{{- $_ := set $names $hash $name -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Not empty where the text is a subject, as server/access/subject.cc has it. */}}
{{- define "evenpack.isSubject" -}}
{{- if regexMatch `^[ -~]+$` . -}}
{{- if regexMatch `^([a-zA-Z][-+.a-zA-Z0-9]*://|dns:.)` . -}}
true
{{- else if regexMatch `^[^=]+=.` . -}}
{{- /* A part of a name goes from one ',' or '+' without a backslash to the next. Such a space before or behind its first '=' or at its ends is none that belongs to a text. */}}
{{- if not (or (regexMatch `^((\\.|[^\\])*[,+])?( |(\\[^=]|[^\\=,+])*(\\?= | =))` .) (regexMatch `^(\\.|[^\\])* ([,+]|$)` .)) -}}
true
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}
