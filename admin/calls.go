package admin

import (
	"cmp"
	"net/http"
	"slices"
)

func (h *handler) members(r *http.Request) (any, error) {
	members, err := h.Cluster.Members(r.Context())
	return orEmpty(members), err
}

func (h *handler) status(r *http.Request) (any, error) {
	status, err := h.Cluster.Status(r.Context())
	status.NotReady = orEmpty(h.Cluster.NotReady())
	status.Ready = len(status.NotReady) == 0
	return status, err
}

func (h *handler) listKV(r *http.Request) (any, error) {
	namespace := r.PathValue("ns")
	values, found, err := h.Tables.ListKV(r.Context(), namespace)
	if err == nil && !found {
		err = failure(KindNotFound, "no namespace %q", namespace)
	}
	return values, err
}

func (h *handler) getKV(r *http.Request) (any, error) {
	namespace, key := r.PathValue("ns"), r.PathValue("key")
	value, found, err := h.Tables.GetKV(r.Context(), namespace, key)
	if err == nil && !found {
		err = failure(KindNotFound, "no key %q in namespace %q", key, namespace)
	}
	return KV{Namespace: namespace, Key: key, Value: value}, err
}

func (h *handler) putKV(r *http.Request) (any, error) {
	var body putBody
	if err := decode(r, &body); err != nil {
		return nil, err
	}
	if body.Value == nil {
		return nil, failure(KindBadRequest, `the body has no "value"`)
	}
	return nil, h.Tables.PutKV(r.Context(), r.PathValue("ns"), r.PathValue("key"), *body.Value)
}

func (h *handler) deleteKV(r *http.Request) (any, error) {
	return nil, h.Tables.DeleteKV(r.Context(), r.PathValue("ns"), r.PathValue("key"))
}

func (h *handler) topics(r *http.Request) (any, error) {
	topics, err := h.Tables.Topics(r.Context())
	return orEmpty(topics), err
}

func (h *handler) route(r *http.Request) (any, error) {
	topic := r.PathValue("topic")
	route, found, err := h.Tables.Route(r.Context(), topic)
	if err == nil && !found {
		err = failure(KindNotFound, "no route for topic %q", topic)
	}
	return route, err
}

func (h *handler) deleteTopic(r *http.Request) (any, error) {
	return nil, h.Tables.DeleteTopic(r.Context(), r.PathValue("topic"), r.URL.Query().Get("cluster"))
}

func (h *handler) brokers(r *http.Request) (any, error) {
	brokers, err := h.Tables.Brokers(r.Context())
	slices.SortStableFunc(brokers, func(a, b Broker) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return orEmpty(brokers), err
}

func (h *handler) wipeWrite(r *http.Request) (any, error) {
	count, err := h.Tables.WipeWrite(r.Context(), r.PathValue("name"))
	return countBody{Count: count}, err
}

func (h *handler) addWrite(r *http.Request) (any, error) {
	count, err := h.Tables.AddWrite(r.Context(), r.PathValue("name"))
	return countBody{Count: count}, err
}

// orEmpty keeps an empty list from being written as null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
