package firqredis

import ()

func namesOf(all []TenantStats) (names []string) {
	for i := range all {
		names = append(names, all[i].Tenant)
	}
	return names
}
