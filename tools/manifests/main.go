// Command manifests reads files of Kubernetes manifests as strictly as an API server does: unknown and doubled fields
// and wrong types are errors. It then checks what an API server would let pass: that selectors, ports, volumes and
// service names lead somewhere. What the first container of each StatefulSet would have in its environment, as pod 0
// of namespace "default", it prints, a variable a line.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	failed := false
	for _, file := range os.Args[1:] {
		if err := run(file, os.Stdout); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", file, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

func run(file string, environment io.Writer) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	m, err := decode(text)
	if err != nil {
		return err
	}
	if err := m.check(); err != nil {
		return err
	}
	for _, set := range m.sets {
		printEnvironment(environment, set)
	}
	return nil
}

// manifests are the objects of one file.
type manifests struct {
	services []*corev1.Service
	sets     []*appsv1.StatefulSet
	budgets  []*policyv1.PodDisruptionBudget
	policies []*networkingv1.NetworkPolicy
}

// decode takes each document of a file for what its apiVersion and kind say.
func decode(text []byte) (*manifests, error) {
	m := &manifests{}
	for i, document := range bytes.Split(text, []byte("\n---\n")) {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(document, &kind); err != nil {
			return nil, fmt.Errorf("document %d: %w", i+1, err)
		}
		var err error
		switch kind.APIVersion + " " + kind.Kind {
		case "v1 Service":
			m.services, err = strictly(m.services, document)
		case "apps/v1 StatefulSet":
			m.sets, err = strictly(m.sets, document)
		case "policy/v1 PodDisruptionBudget":
			m.budgets, err = strictly(m.budgets, document)
		case "networking.k8s.io/v1 NetworkPolicy":
			m.policies, err = strictly(m.policies, document)
		default:
			err = fmt.Errorf("%q of %q is not known here", kind.Kind, kind.APIVersion)
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", i+1, err)
		}
	}
	return m, nil
}

func strictly[T any](list []*T, document []byte) ([]*T, error) {
	object := new(T)
	err := yaml.UnmarshalStrict(document, object)
	return append(list, object), err
}
