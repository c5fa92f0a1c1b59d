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

// later calls f after d, unless Close comes before.
func (s *System) later(d time.Duration, f func()) {
	s.keepMu.Lock()
	defer s.keepMu.Unlock()
	if s.closed.Load() {
		return
	}
	if s.timers == nil {
		s.timers = map[*time.Timer]struct{}{}
	}
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		s.keepMu.Lock()
		delete(s.timers, t)
		s.keepMu.Unlock()
		f()
	})
	s.timers[t] = struct{}{}
}
