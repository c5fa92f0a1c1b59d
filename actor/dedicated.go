package actor

import "time"

func (s *System) addDedicated(a *actor) {
	a.x.pool.init(s, 1, true)
	s.keepMu.Lock()
	s.dedicated[a] = struct{}{}
	s.keepMu.Unlock()
}

func (s *System) dropDedicated(a *actor) {
	s.keepMu.Lock()
	_, ok := s.dedicated[a]
	delete(s.dedicated, a)
	s.keepMu.Unlock()
	if ok {
		a.x.pool.close()
	}
}

// keep remembers a timer of a supervisor, which Close stops.
func (s *System) keep(t *time.Timer) {
	s.keepMu.Lock()
	defer s.keepMu.Unlock()
	if s.closed.Load() {
		t.Stop()
		return
	}
	if s.timers == nil {
		s.timers = map[*time.Timer]struct{}{}
	}
	s.timers[t] = struct{}{}
}
