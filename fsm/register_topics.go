package fsm

import "namesrv/remoting/protocol"

// Permission bits of a queue.
const (
	permWrite     = 2
	permReadWrite = 6
)

// isPrimeSlave tells whether the registering broker stands in for an absent
// master: a 5.x broker with the smallest id of its group.
func (g *registering) isPrimeSlave() bool {
	return g.r.Acting != ActingAbsent && g.r.ID != masterID && g.r.ID == g.after.MinID()
}

// suppliesTopics tells whether the topics of the registration count at all.
func (g *registering) suppliesTopics() bool {
	return g.r.HasTable && (g.r.ID == masterID || g.isPrimeSlave())
}

// registerTopics writes the topic table. An entry under an equal DataVersion
// stays as it is, or a registration would undo a wiped permission; a missing one
// is added, since parts of one table may come under one version.
func (g *registering) registerTopics(first bool) {
	force := first || g.known == nil || g.known.DataVersion != g.r.DataVersion
	if g.s.options.DeleteTopicWithBrokerRegistration && len(g.r.Mappings) == 0 {
		g.dropMissingTopics()
	}
	if force || g.lacksTopic() {
		g.putTopics(force)
	}
	if force {
		g.putMappings()
	}
}

// lacksTopic tells whether the broker has no entry in one of the topics. This is
// what most registrations come down to. It looks at many topics at a time, since
// finding one means waiting for memory, and the processor overlaps the waits of
// one short loop better: this takes a third off the time.
func (g *registering) lacksTopic() bool {
	var batch [128]*Topic
	hint := 0
	for rest := g.r.Topics; len(rest) > 0; {
		n := min(len(rest), len(batch))
		for i := range n {
			if batch[i] = g.s.Topic(rest[i].Name); batch[i] == nil {
				return true
			}
		}
		for _, t := range batch[:n] {
			at, found := t.find(g.after.Name, hint)
			if !found {
				return true
			}
			hint = at
		}
		rest = rest[n:]
	}
	return false
}

func (g *registering) putTopics(force bool) {
	mute := g.mutesTopics()
	entries := g.d.entriesOf(g.after.Name)
	hint := 0
	for i := range g.r.Topics {
		config := &g.r.Topics[i]
		want := settingsOf(config, mute)
		topic := g.d.topic(config.Name)
		at, found := topic.find(g.after.Name, hint)
		hint = at
		if found && (topic.Queues[at].Settings == want || !force && g.hadTopic(config.Name)) {
			continue
		}
		g.d.replaceTopic(topic, topic.withQueue(at, found, entries.get(want)))
	}
	entries.keep()
}

// mutesTopics tells whether the topics take no messages because a slave acts for
// the master that is gone.
func (g *registering) mutesTopics() bool {
	_, hasMaster := g.after.Addr(masterID)
	return g.isPrimeSlave() && g.after.Acting && !hasMaster
}

func settingsOf(c *protocol.TopicConfig, mute bool) QueueSettings {
	v := QueueSettings{Read: c.ReadQueueNums, Write: c.WriteQueueNums, Perm: c.Perm, SysFlag: c.SysFlag}
	if mute {
		v.Perm &^= permWrite
	}
	return v
}

// hadTopic tells whether the broker had the topic before this registration,
// which may name a topic twice.
func (g *registering) hadTopic(name string) bool {
	t := g.s.Topic(name)
	return t != nil && t.has(g.after.Name)
}

// dropMissingTopics takes the broker out of all topics that the registration
// does not name.
func (g *registering) dropMissingTopics() {
	named := make(map[string]struct{}, len(g.r.Topics))
	for i := range g.r.Topics {
		named[g.r.Topics[i].Name] = struct{}{}
	}
	dropped := false
	isThis := func(broker string) bool { return broker == g.after.Name }
	for t := range g.s.topics.all() {
		if _, ok := named[t.Name]; !ok && t.has(g.after.Name) {
			topic := g.d.topic(t.Name)
			g.d.replaceTopic(topic, topic.withoutQueues(isThis))
			dropped = true
		}
	}
	if dropped {
		g.d.entriesRemoved(g.after.Name)
	}
}

// putMappings stores the static mappings. Epochs are not compared: the last one
// registered counts, as in the stock server.
func (g *registering) putMappings() {
	for _, m := range g.r.Mappings {
		topic := g.d.topic(m.Topic)
		g.d.replaceTopic(topic, topic.withMapping(m))
	}
}
