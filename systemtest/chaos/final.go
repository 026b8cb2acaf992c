package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"namesrv/internal/rocketmq"
	"namesrv/systemtest"
)

func sorted[V any](m map[string]V) []string { return slices.Sorted(mapKeys(m)) }

// registered waits until every peer has all brokers.
func registered(ctx context.Context, c *systemtest.Cluster, brokers []rocketmq.Registration) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for _, n := range c.Nodes {
		err := systemtest.Poll(ctx, func() error {
			answer, err := rocketmq.Ask(ctx, n.Client, &rocketmq.Frame{Code: rocketmq.CodeClusterInfo})
			if err != nil {
				return err
			}
			for _, b := range brokers {
				if !bytes.Contains(answer.Body, []byte(`"`+b.Addr+`"`)) {
					return fmt.Errorf("%s does not have %s yet", n.ID, b.Broker)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// holds looks for acknowledged keys at one peer.
func holds(ctx context.Context, n *systemtest.Node, keys []string) error {
	body, err := body(ctx, n, &rocketmq.Frame{Code: rocketmq.CodeKVList, Fields: map[string]string{"namespace": keptSpace}})
	if err != nil {
		return fmt.Errorf("acknowledged keys at %s: %w", n.ID, err)
	}
	var kv struct {
		Table map[string]string `json:"table"`
	}
	if err := json.Unmarshal(body, &kv); err != nil {
		return err
	}
	var lost []string
	for _, key := range keys {
		if kv.Table[key] != key {
			lost = append(lost, key)
		}
	}
	if len(lost) > 0 {
		return fmt.Errorf("%s lost %d of %d acknowledged keys: %.300v", n.ID, len(lost), len(keys), lost)
	}
	return nil
}

// body is the body of a successful answer; other answers are asked for again for some seconds.
func body(ctx context.Context, n *systemtest.Node, f *rocketmq.Frame) (out []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	err = systemtest.Poll(ctx, func() error {
		answer, err := rocketmq.Ask(ctx, n.Client, f)
		if err != nil {
			return err
		}
		if answer.Code != rocketmq.Success {
			return fmt.Errorf("code %d: %s", answer.Code, answer.Remark)
		}
		out = answer.Body
		return nil
	})
	return out, err
}

// alike compares what the peers answer, byte for byte. A broker that went long ago may be removed in between, so a
// difference counts when it stays.
func alike(ctx context.Context, c *systemtest.Cluster) (compared int, err error) {
	lists := []*rocketmq.Frame{{Code: rocketmq.CodeClusterInfo}, {Code: rocketmq.CodeAllTopics}}
	raw, err := body(ctx, c.Nodes[0], lists[1])
	if err != nil {
		return 0, err
	}
	var all struct {
		TopicList []string
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return 0, err
	}
	for _, topic := range all.TopicList {
		lists = append(lists, rocketmq.RouteOf(topic, 317), rocketmq.RouteOf(topic, 513))
	}
	conns, closeAll, err := dialAll(ctx, c)
	if err != nil {
		return 0, err
	}
	defer closeAll()
	for _, f := range lists {
		sctx, cancel := context.WithTimeout(ctx, 15*time.Second)
		err := systemtest.Poll(sctx, func() error { return same(sctx, conns, f) })
		cancel()
		if err != nil {
			return compared, fmt.Errorf("the peers differ on %d %v: %w", f.Code, f.Fields, err)
		}
		compared += len(conns)
	}
	return compared, nil
}

func dialAll(ctx context.Context, c *systemtest.Cluster) (conns []*rocketmq.Conn, closeAll func(), err error) {
	closeAll = func() {
		for _, conn := range conns {
			conn.Close()
		}
	}
	for _, addr := range c.Clients() {
		conn, err := rocketmq.Dial(ctx, addr)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		conns = append(conns, conn)
	}
	return conns, closeAll, nil
}

func same(ctx context.Context, conns []*rocketmq.Conn, f *rocketmq.Frame) error {
	var first *rocketmq.Frame
	for i, conn := range conns {
		answer, err := conn.Call(ctx, f)
		switch {
		case err != nil:
			return err
		case answer.Code != rocketmq.Success && answer.Code != rocketmq.TopicNotExist:
			return fmt.Errorf("peer %d: code %d %s", i+1, answer.Code, answer.Remark)
		case first == nil:
			first = answer
		case answer.Code != first.Code || !bytes.Equal(answer.Body, first.Body):
			return fmt.Errorf("peer 1 answers code %d\n%s\npeer %d answers code %d\n%s", first.Code, first.Body, i+1, answer.Code, answer.Body)
		}
	}
	return nil
}
