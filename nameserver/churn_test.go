package nameserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"namesrv/remoting/protocol"
)

const (
	churnBrokers = 50
	churnTurns   = 60 // of each of the eight that come and go
)

// TestAnswersWhileBrokersComeAndGo promises that every answer shows one state of all tables, however many brokers come
// and go meanwhile: whoever is named in one part of it has its entry in the other.
func TestAnswersWhileBrokersComeAndGo(t *testing.T) {
	r := newRig(t)
	var changing, looking sync.WaitGroup
	for w := range 8 {
		c := r.dial()
		changing.Go(func() {
			for turn := range churnTurns {
				n := w + 8*(turn%(churnBrokers/8))
				b := broker{cluster: fmt.Sprint("c", n%3), name: fmt.Sprint("b", n), addr: fmt.Sprintf("10.0.1.%d:10911", n), counter: int64(turn), topics: []string{"shared", fmt.Sprint("own", n)}}
				if turn/(churnBrokers/8)%2 == 0 {
					c.register(b)
				} else {
					c.want(protocol.Success, protocol.UnregisterBroker, b.unregister())
				}
			}
		})
	}
	var looked atomic.Int64
	var over atomic.Bool
	for _, look := range []func(c *client) error{wholeList, wholeRoute, wholeNames} {
		for range 2 {
			c := r.dial()
			looking.Go(func() {
				for !over.Load() {
					if err := look(c); err != nil {
						t.Error(err)
						return
					}
					looked.Add(1)
				}
			})
		}
	}
	changing.Wait()
	over.Store(true)
	looking.Wait()
	t.Logf("%d answers looked at during %d changes", looked.Load(), r.group.entries())
	if looked.Load() == 0 {
		t.Error("nothing was looked at")
	}
}

// bareID is an id that the stock dialect writes without quotes, which package json does not take.
var bareID = regexp.MustCompile(`([{,])(-?\d+):`)

func quoted(body []byte) []byte { return bareID.ReplaceAll(body, []byte(`$1"$2":`)) }

// wholeList looks at the list of all brokers.
func wholeList(c *client) error {
	res := c.want(protocol.Success, protocol.GetBrokerClusterInfo, nil)
	var list struct {
		BrokerAddrTable map[string]struct {
			BrokerAddrs map[string]string
			Cluster     string
		}
		ClusterAddrTable map[string][]string
	}
	if err := json.Unmarshal(quoted(res.Body), &list); err != nil {
		return fmt.Errorf("%w: %s", err, res.Body)
	}
	named := map[string]string{}
	for cluster, names := range list.ClusterAddrTable {
		for _, name := range names {
			named[name] = cluster
		}
	}
	shown := map[string]string{}
	for name, b := range list.BrokerAddrTable {
		shown[name] = b.Cluster
		if len(b.BrokerAddrs) == 0 {
			return fmt.Errorf("%s has no address: %s", name, res.Body)
		}
	}
	if diff := cmp.Diff(named, shown); diff != "" {
		return fmt.Errorf("the two halves of the list differ: %s", diff)
	}
	return nil
}

// wholeRoute looks at the route of the topic that all brokers have.
func wholeRoute(c *client) error {
	res := c.call(protocol.GetRouteInfoByTopic, fields{"topic": "shared"})
	if res.Code == protocol.TopicNotExist {
		return nil // nobody was there
	}
	var route struct {
		BrokerDatas []struct{ BrokerName string }
		QueueDatas  []struct {
			BrokerName                          string
			Perm, ReadQueueNums, WriteQueueNums int
		}
	}
	if err := json.Unmarshal(quoted(res.Body), &route); err != nil || res.Code != protocol.Success {
		return fmt.Errorf("code %d: %w: %s", res.Code, err, res.Body)
	}
	brokers, queues := map[string]bool{}, map[string]bool{}
	for _, b := range route.BrokerDatas {
		brokers[b.BrokerName] = true
	}
	for _, q := range route.QueueDatas {
		queues[q.BrokerName] = true
		if q.Perm != 6 || q.ReadQueueNums != 8 || q.WriteQueueNums != 8 {
			return fmt.Errorf("a torn pair: %+v", q)
		}
	}
	if !maps.Equal(brokers, queues) {
		return fmt.Errorf("brokers and queues of a route differ: %s", res.Body)
	}
	return nil
}

// wholeNames looks at the list of topics: "shared" is there exactly when any other is.
func wholeNames(c *client) error {
	res := c.want(protocol.Success, protocol.GetAllTopicList, nil)
	var list struct{ TopicList []string }
	if err := json.Unmarshal(res.Body, &list); err != nil {
		return fmt.Errorf("%w: %s", err, res.Body)
	}
	own := slices.ContainsFunc(list.TopicList, func(name string) bool { return name != "shared" })
	if own != slices.Contains(list.TopicList, "shared") {
		return fmt.Errorf("half of a registration is shown: %v", list.TopicList)
	}
	return nil
}
