{{- define "boxyard.name" -}}
{{ .Release.Name | trunc 42 | trimSuffix "-" }}
{{- end }}

{{- define "boxyard.selector" -}}
app.kubernetes.io/name: boxyard
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "boxyard.labels" -}}
{{ include "boxyard.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "boxyard.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "boxyard.keys" -}}
{{ .Values.keys.existingSecret | default (printf "%s-keys" (include "boxyard.name" .)) }}
{{- end }}

{{- define "boxyard.hasDatabase" -}}
{{- if or .Values.database.existingSecret .Values.database.url }}true{{ end }}
{{- end }}

{{- define "boxyard.databaseSecret" -}}
{{ .Values.database.existingSecret | default (printf "%s-database" (include "boxyard.name" .)) }}
{{- end }}

{{- define "boxyard.databaseKey" -}}
{{ if .Values.database.existingSecret }}{{ .Values.database.key }}{{ else }}url{{ end }}
{{- end }}
