package usage

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of /proc/stat: USER_HZ, which is 100 on every architecture that Go has.
const tick = 10 * time.Millisecond

// OfMachine returns the machine's use until now, by the first line of /proc/stat (proc(5)).
func OfMachine() Machine {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Machine{}
	}
	return parse(string(text), Now())
}

func parse(text string, own Usage) Machine {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return Machine{}
	}
	m := Machine{own: own}
	for i, f := range fields[1:9] { // user nice system idle iowait irq softirq steal; guests are in user
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return Machine{}
		}
		m.all += time.Duration(n) * tick
		if i == 3 || i == 4 {
			m.idle += time.Duration(n) * tick
		}
	}
	return m
}
