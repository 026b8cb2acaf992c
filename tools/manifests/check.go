package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// check follows everything that names something else, and returns what leads nowhere.
func (m *manifests) check() error {
	var problems []error
	for _, set := range m.sets {
		problems = append(problems, m.checkSet(set)...)
	}
	for _, s := range m.services {
		for _, port := range s.Spec.Ports {
			problems = append(problems, m.leads("service "+s.Name, metav1.LabelSelector{MatchLabels: s.Spec.Selector}, port.TargetPort))
		}
	}
	for _, b := range m.budgets {
		problems = append(problems, m.leads("budget "+b.Name, *b.Spec.Selector))
	}
	for _, p := range m.policies {
		for _, rule := range p.Spec.Ingress {
			for _, port := range rule.Ports {
				problems = append(problems, m.leads("policy "+p.Name, p.Spec.PodSelector, *port.Port))
			}
		}
	}
	return errors.Join(problems...)
}

// leads checks that a selector selects pods of a set here, which have the given ports.
func (m *manifests) leads(who string, by metav1.LabelSelector, ports ...intstr.IntOrString) error {
	selector, err := metav1.LabelSelectorAsSelector(&by)
	if err != nil {
		return fmt.Errorf("%s: %w", who, err)
	}
	for _, set := range m.sets {
		if selector.Empty() || !selector.Matches(labels.Set(set.Spec.Template.Labels)) {
			continue
		}
		for _, port := range ports {
			if !hasPort(set, port) {
				return fmt.Errorf("%s: its pods have no port %s", who, port.String())
			}
		}
		return nil
	}
	return fmt.Errorf("%s: selects no pod", who)
}

func hasPort(set *appsv1.StatefulSet, wanted intstr.IntOrString) bool {
	for _, c := range set.Spec.Template.Spec.Containers {
		for _, port := range c.Ports {
			if wanted.Type == intstr.String && port.Name == wanted.StrVal || wanted.Type == intstr.Int && port.ContainerPort == wanted.IntVal {
				return true
			}
		}
	}
	return false
}

func (m *manifests) checkSet(set *appsv1.StatefulSet) (problems []error) {
	who := "stateful set " + set.Name
	if err := m.leads(who, *set.Spec.Selector); err != nil {
		problems = append(problems, err)
	}
	if !m.hasHeadless(set.Spec.ServiceName) {
		problems = append(problems, fmt.Errorf("%s: no headless service %q", who, set.Spec.ServiceName))
	}
	for _, c := range set.Spec.Template.Spec.Containers {
		for _, mount := range c.VolumeMounts {
			if !hasVolume(set, mount.Name) {
				problems = append(problems, fmt.Errorf("%s: no volume %q", who, mount.Name))
			}
		}
		for _, probe := range []*corev1.Probe{c.ReadinessProbe, c.LivenessProbe} {
			if probe == nil || probe.HTTPGet == nil || !hasPort(set, probe.HTTPGet.Port) {
				problems = append(problems, fmt.Errorf("%s: each container needs a readiness and a liveness probe over HTTP, at a port that it has", who))
			}
		}
	}
	return problems
}

func (m *manifests) hasHeadless(name string) bool {
	for _, s := range m.services {
		if s.Name == name && s.Spec.ClusterIP == corev1.ClusterIPNone {
			return true
		}
	}
	return false
}

func hasVolume(set *appsv1.StatefulSet, name string) bool {
	for _, claim := range set.Spec.VolumeClaimTemplates {
		if claim.Name == name {
			return true
		}
	}
	for _, volume := range set.Spec.Template.Spec.Volumes {
		if volume.Name == name {
			return true
		}
	}
	return false
}

// printEnvironment prints the variables of a set's first container with $(NAME) filled in, as for its pod 0.
func printEnvironment(w io.Writer, set *appsv1.StatefulSet) {
	fields := map[string]string{"metadata.name": set.Name + "-0", "metadata.namespace": "default"}
	var known []string // pairs for a replacer
	for _, v := range set.Spec.Template.Spec.Containers[0].Env {
		value := v.Value
		if v.ValueFrom != nil && v.ValueFrom.FieldRef != nil {
			value = fields[v.ValueFrom.FieldRef.FieldPath]
		}
		value = strings.NewReplacer(known...).Replace(value)
		known = append(known, "$("+v.Name+")", value)
		fmt.Fprintf(w, "%s=%s\n", v.Name, value)
	}
}
