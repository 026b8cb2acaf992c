package main

import (
	"strings"
	"testing"
)

const good = `apiVersion: v1
kind: Service
metadata: {name: peers}
spec: {clusterIP: None, selector: {app: x}, ports: [{port: 1, targetPort: p}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: x}
spec:
  serviceName: peers
  selector: {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: x}}
    spec:
      containers:
        - name: x
          env:
            - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
            - {name: ADDRESS, value: "$(POD).peers"}
          ports: [{name: p, containerPort: 1}]
          readinessProbe: {httpGet: {port: p}}
          livenessProbe: {httpGet: {port: 1}}
          volumeMounts: [{name: data, mountPath: /data}]
  volumeClaimTemplates: [{metadata: {name: data}}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: x}
spec: {selector: {matchLabels: {app: x}}}
`

func TestManifests(t *testing.T) {
	tests := []struct {
		name, from, to string
		want           string // part of the error, "" for none
	}{
		{"good", "", "", ""},
		{"an unknown field", "serviceName: peers", "serviceName: peers\n  serviceNames: y", "serviceNames"},
		{"a wrong type", "containerPort: 1", "containerPort: one", "containerPort"},
		{"an unknown kind", "kind: PodDisruptionBudget", "kind: Pod", "not known here"},
		{"no such service", "serviceName: peers", "serviceName: peer", `no headless service "peer"`},
		{"a service with an address", "clusterIP: None, ", "", "no headless service"},
		{"a service for nobody", "None, selector: {app: x}", "None, selector: {app: y}", "service peers: selects no pod"},
		{"a service for everybody", "None, selector: {app: x}", "None, selector: {}", "service peers: selects no pod"},
		{"a port that is not there", "targetPort: p", "targetPort: q", "no port q"},
		{"a budget for nobody", "spec: {selector: {matchLabels: {app: x}}}", "spec: {selector: {matchLabels: {app: y}}}", "budget x: selects no pod"},
		{"a volume that is not there", "name: data, mountPath", "name: date, mountPath", `no volume "date"`},
		{"a probe of a port that is not there", "livenessProbe: {httpGet: {port: 1}}", "livenessProbe: {httpGet: {port: 2}}", "liveness probe"},
		{"no probe", "          readinessProbe: {httpGet: {port: p}}\n", "", "readiness"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if !strings.Contains(good, tc.from) {
				t.Fatalf("nothing to replace: %q", tc.from)
			}
			m, err := decode([]byte(strings.Replace(good, tc.from, tc.to, 1)))
			if err == nil {
				err = m.check()
			}
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestEnvironmentIsFilledIn(t *testing.T) {
	m, err := decode([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	printEnvironment(&out, m.sets[0])
	if want := "POD=x-0\nADDRESS=x-0.peers\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
