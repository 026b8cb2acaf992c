package remoting

// enqueueOrdered queues a request behind the connection's other Ordered ones. At most one of them is with a pool at any
// time: the pool's goroutine takes the next when it is done.
func (c *Conn) enqueueOrdered(j job) {
	c.mu.Lock()
	c.ordered = append(c.ordered, j)
	running := c.orderedRunning
	c.orderedRunning = true
	c.mu.Unlock()
	if !running {
		c.submitOrdered()
	}
}

func (c *Conn) isOrderedRunning() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.orderedRunning
}

// submitOrdered gives the next Ordered request to its pool. Those whose pool has no room are refused, in order.
func (c *Conn) submitOrdered() {
	for {
		j, ok := c.firstOrdered()
		if !ok || j.proc.Pool.submit(func() { c.runOrdered(j.proc.Pool) }) {
			return
		}
		c.refuse(c.takeOrdered())
	}
}

// runOrdered executes Ordered requests, on a goroutine of pool, until there are none or the next belongs to another
// pool.
func (c *Conn) runOrdered(pool *Pool) {
	for {
		j, ok := c.firstOrdered()
		if !ok {
			return
		}
		if j.proc.Pool != pool {
			c.submitOrdered()
			return
		}
		if c.park(j) {
			return
		}
		c.handle(c.takeOrdered())
	}
}

// firstOrdered returns the next Ordered request, without taking it. When there is none, none is running any more.
func (c *Conn) firstOrdered() (job, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.ordered) == 0 {
		c.ordered = nil
		c.orderedRunning = false
		c.room.Broadcast()
		return job{}, false
	}
	return c.ordered[0], true
}

// takeOrdered removes the next Ordered request. Only the one goroutine for which orderedRunning stands may do so.
func (c *Conn) takeOrdered() job {
	c.mu.Lock()
	defer c.mu.Unlock()
	j := c.ordered[0]
	c.ordered[0] = job{}
	c.ordered = c.ordered[1:]
	return j
}
