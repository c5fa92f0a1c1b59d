//go:build firq_failpoints

package schedules

// comesBackUnseen: a tenant that was served its last task gets one under the lease. A
// consumer that finds nothing just then has seen off the tenant that was served. until is where the
// holder of the lease is stopped.
func comesBackUnseen(st *stage, until string) {
	d, restore := st.direct()
	defer restore()
	d.busy = true
	b := st.two(config{})[0] // a shard alone is ready as long as a tenant lingers
	a := st.beside(b)
	st.queue(b, 4)
	st.must() // b lingers
	one := d.call("E2 credit", func() { st.queue(b, 5) })
	two := d.call(until, func() { st.queue(b, 6) })
	if one.over || two.over {
		one.run("")
		return // the inbox is not full, or there is no such mark
	}
	found := false
	client := d.call("L1 busy", func() { _, found = st.try() })
	two.run("")
	client.run("")
	one.run("")
	if found {
		return
	}
	st.queue(b, 7)
	st.queue(a, 3)
	if it := st.must(); it.Payload == 3 {
		st.Errorf("3 came before b's tasks, which were there first")
	}
}

// smallInbox reports whether the second task of a tenant finds the inbox full. It enqueues
// two tasks to find out, and takes them.
func (st *stage) smallInbox(d *controller) bool {
	c := d.call("resize", func() { st.queue("probe", 91, 92) })
	small := !c.over
	c.run("")
	st.rest()
	return small
}

// joinsUnannounced: the lease holder drains a full inbox of a tenant that is in no
// list. What is put in after the ring was read comes after a tenant that was announced
// in the same time.
func joinsUnannounced(st *stage) {
	d, restore := st.direct()
	defer restore()
	d.busy = true
	st.build(config{})
	if st.smallInbox(d) {
		return
	}
	var calls []*call
	for n := range inbox {
		calls = append(calls, d.call("E2 credit", func() { st.queue("a", n) }))
	}
	if calls[0].over {
		return // this core has no inboxes
	}
	last := d.call("drain tail", func() { st.queue("a", inbox) })
	st.queue("b", 50)
	calls[0].run("")
	last.run("")
	for _, c := range calls[1:] {
		c.run("")
	}
	if got := st.rest(); len(got) != inbox+2 || got[0] != 50 {
		st.Errorf("got %v, though 50 was there before the others had a place", got)
	}
}

// growsMeanwhile: a ticket is drawn while the inbox is about to be replaced.
func growsMeanwhile(st *stage) {
	d, restore := st.direct()
	defer restore()
	d.busy = true
	st.build(config{})
	grower := d.call("resize", func() { st.queue("a", 1, 2) })
	producer := d.call("E4 put", func() { st.queue("a", 3) })
	grower.run("resize swap")
	st.queue("a", 4)
	grower.run("")
	producer.run("")
	if got := st.rest(); len(got) != 4 {
		st.Errorf("got %v of four", got)
	}
}
