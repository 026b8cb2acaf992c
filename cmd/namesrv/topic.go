package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"namesrv/admin"
)

// topicCommand looks at topics and their routes.
func topicCommand() *cli.Command {
	return &cli.Command{
		Name:  "topic",
		Usage: "look at topics and their routes",
		Description: "Topics are made by brokers: mqadmin updateTopic makes one.\n\n" +
			"Examples:\n  namesrv topic list\n  namesrv topic route TopicA",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "print the names of all topics",
				Description: "Example:\n  namesrv topic list",
				Flags:       clientFlags(), Action: listing((*admin.Client).Topics, topicTable),
			},
			{
				Name: "route", Usage: "print where a topic is", ArgsUsage: "TOPIC",
				Description: "With -o json it is the route as clients get it.\n\nExample:\n  namesrv topic route TopicA -o json",
				Flags:       clientFlags(), Action: topicRoute,
			},
			{
				Name: "delete", Usage: "forget the routes of a topic", ArgsUsage: "TOPIC",
				Description: "Brokers that still have the topic bring it back with their next registration: delete it there first\n" +
					"(mqadmin deleteTopic does both).\n\nExample:\n  namesrv topic delete TopicA --cluster DefaultCluster",
				Flags: clientFlags(&cli.StringFlag{Name: "cluster", Usage: "only of the brokers of one cluster `NAME`"}), Action: topicDelete,
			},
		},
	}
}

func topicTable(w io.Writer, topics []string) {
	for _, topic := range topics {
		fmt.Fprintln(w, cell(topic))
	}
}

func topicRoute(c *cli.Context) error {
	args, err := arguments(c, "TOPIC")
	if err != nil {
		return err
	}
	return look(c, func(ctx context.Context, client *admin.Client) error {
		text, err := client.Route(ctx, args[0])
		if err != nil {
			return hint(err, "namesrv topic list")
		}
		var route routeBody
		if err := json.Unmarshal(text, &route); err != nil {
			return fmt.Errorf("read the route: %w", err)
		}
		return show(c, text, func(w io.Writer) { routeTable(w, route) })
	})
}

// routeBody is the part of a route that the table shows.
type routeBody struct {
	Brokers []struct {
		Name    string            `json:"brokerName"`
		Cluster string            `json:"cluster"`
		Addrs   map[string]string `json:"brokerAddrs"`
	} `json:"brokerDatas"`
	Queues []struct {
		Broker string `json:"brokerName"`
		Read   int32  `json:"readQueueNums"`
		Write  int32  `json:"writeQueueNums"`
		Perm   int32  `json:"perm"`
	} `json:"queueDatas"`
}

func routeTable(w io.Writer, route routeBody) {
	var queues, addresses [][]string
	for _, q := range route.Queues {
		queues = append(queues, []string{q.Broker, number(q.Read), number(q.Write), permission(q.Perm)})
	}
	for _, b := range route.Brokers {
		for _, id := range slices.SortedFunc(maps.Keys(b.Addrs), byNumber) {
			addresses = append(addresses, []string{b.Name, b.Cluster, id, b.Addrs[id]})
		}
	}
	columns(w, []string{"BROKER", "READ QUEUES", "WRITE QUEUES", "PERMISSION"}, queues)
	fmt.Fprintln(w)
	columns(w, []string{"BROKER", "CLUSTER", "ID", "ADDRESS"}, addresses)
}

// byNumber orders broker ids, which are numbers written as JSON keys.
func byNumber(a, b string) int {
	x, _ := strconv.ParseInt(a, 10, 64)
	y, _ := strconv.ParseInt(b, 10, 64)
	return int(min(max(x-y, -1), 1))
}

// permission writes the bits of a queue's permission as mqadmin does: 4 is read, 2
// is write.
func permission(bits int32) string {
	text := []byte("--")
	if bits&4 != 0 {
		text[0] = 'R'
	}
	if bits&2 != 0 {
		text[1] = 'W'
	}
	return string(text)
}

func topicDelete(c *cli.Context) error {
	args, err := arguments(c, "TOPIC")
	if err != nil {
		return err
	}
	cluster := c.String("cluster")
	return ask(c, func(ctx context.Context, client *admin.Client) error {
		if err := client.DeleteTopic(ctx, args[0], cluster); err != nil {
			return hint(err, "namesrv topic list")
		}
		deleted := map[string]any{"topic": args[0], "cluster": cluster, "deleted": true}
		return show(c, deleted, func(w io.Writer) { fmt.Fprintf(w, "deleted %s\n", cell(args[0])) })
	})
}
