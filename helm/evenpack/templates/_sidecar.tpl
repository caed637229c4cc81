{{/*
Three pieces of a trainer's pod: a worker for each of its ranks, beside the trainer. Each
takes this chart's context: `.` within it, `.Subcharts.evenpack` in a chart that depends
on it.

  initContainers:
    {{- include "evenpack.workerSidecar" .Subcharts.evenpack | nindent 4 }}
  containers:
    - name: trainer
      volumeMounts:
        {{- include "evenpack.workerSidecarMounts" .Subcharts.evenpack | nindent 8 }}
  volumes:
    {{- include "evenpack.workerSidecarVolumes" .Subcharts.evenpack | nindent 4 }}

Rank r of the pod attaches at /run/evenpack/r. Containers that are started before the
trainer's and end after them: Kubernetes' sidecars, from 1.29 on.
*/}}
{{- define "evenpack.workerSidecar" -}}
{{- if semverCompare "<1.29.0-0" .Capabilities.KubeVersion.Version -}}
{{- fail (printf "sidecar: not accepted on Kubernetes %s, where its containers would never end before the trainer's begins; accepted: 1.29 or later" .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- $sidecar := .Values.sidecar -}}
{{- $client := include "evenpack.sidecarClient" . | fromYaml -}}
{{- range $rank := until (int $sidecar.ranksPerPod) -}}
{{- $port := add $sidecar.httpPort $rank -}}
{{- if $rank }}
{{ end -}}
- name: evenpack-worker-{{ $rank }}
  restartPolicy: Always
  {{- include "evenpack.container" (dict "context" $ "values" $sidecar) | nindent 2 }}
  args:
    - --serve
    - --server
    - {{ include "evenpack.sidecarServer" $ | quote }}
    - --socket-folder
    - /run/evenpack/{{ $rank }}
    - --memory
    - {{ $sidecar.memory | quote }}
    - --threads
    - {{ int $sidecar.threads | quote }}
    - --host
    - $(POD_IP)
    - --http-listen
    - {{ printf "%s:%d" $.Values.server.bindAddress $port | quote }}
    - --log-format
    - json
    {{- if not (kindIs "invalid" $sidecar.trainerUser) }}
    - --trainer-user
    - {{ int $sidecar.trainerUser | quote }}
    {{- end }}
  env:
    # Where the workers of other pods reach this one.
    - name: POD_IP
      valueFrom:
        fieldRef:
          fieldPath: status.podIP
    {{- with $client.env }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  ports:
    - name: evenpack-{{ $rank }}
      containerPort: {{ $port }}
  # The trainer is started once its worker can be attached to.
  startupProbe:
    httpGet:
      path: /healthz
      port: evenpack-{{ $rank }}
    periodSeconds: 1
    failureThreshold: 60
  volumeMounts:
    - name: evenpack-{{ $rank }}
      mountPath: /run/evenpack/{{ $rank }}
    {{- with $client.mounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
{{- end }}

{{/*
The volumes of the pod: a folder for the sockets of each rank, and what workers show the
server.
*/}}
{{- define "evenpack.workerSidecarVolumes" -}}
{{- range $rank := until (int .Values.sidecar.ranksPerPod) -}}
{{- if $rank }}
{{ end -}}
- name: evenpack-{{ $rank }}
  emptyDir:
    medium: Memory
    sizeLimit: 1Mi
{{- end }}
{{- with (include "evenpack.sidecarClient" . | fromYaml).volumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/*
Environment, mounts and volumes by which workers reach the server. Nothing where an agent
of their node is between: it says itself who it is.
*/}}
{{- define "evenpack.sidecarClient" -}}
{{- if not (and .Values.agent.enabled (eq .Values.agent.expose "service")) -}}
{{- $client := dict "context" . "component" "sidecar" "identity" .Values.sidecar.identity "name" "evenpack-credentials" -}}
env: {{- include "evenpack.clientEnv" $client | nindent 2 }}
mounts: {{- include "evenpack.clientMounts" $client | nindent 2 }}
volumes: {{- include "evenpack.clientVolumes" $client | nindent 2 }}
{{- end }}
{{- end }}

{{/* The volume mounts of the trainer. */}}
{{- define "evenpack.workerSidecarMounts" -}}
{{- range $rank := until (int .Values.sidecar.ranksPerPod) -}}
{{- if $rank }}
{{ end -}}
- name: evenpack-{{ $rank }}
  mountPath: /run/evenpack/{{ $rank }}
{{- end }}
{{- end }}

{{/*
The server of a worker: the agent of its node where a Service leads to it, else the
server itself.
*/}}
{{- define "evenpack.sidecarServer" -}}
{{- if and .Values.agent.enabled (eq .Values.agent.expose "service") -}}
{{- printf "%s-agent.%s.svc:%d" (include "evenpack.fullname" .) .Release.Namespace (int .Values.agent.ports.grpc) }}
{{- else -}}
{{- include "evenpack.serverAddress" . }}
{{- end }}
{{- end }}
