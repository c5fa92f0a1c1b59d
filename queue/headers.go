package queue

import "unicode/utf8"

// RawHeaders are headers that JSON cannot hold as text: pairs of bytes that are not UTF-8.
type RawHeaders [][2][]byte

// SplitHeaders returns the headers that are UTF-8, and the others.
func SplitHeaders(all map[string]string) (texts map[string]string, raw RawHeaders) {
	for k, v := range all {
		if !utf8.ValidString(k) || !utf8.ValidString(v) {
			raw = append(raw, [2][]byte{[]byte(k), []byte(v)})
		}
	}
	if raw == nil {
		return all, nil
	}
	texts = map[string]string{}
	for k, v := range all {
		if utf8.ValidString(k) && utf8.ValidString(v) {
			texts[k] = v
		}
	}
	return texts, raw
}

// Join undoes SplitHeaders.
func (raw RawHeaders) Join(texts map[string]string) map[string]string {
	if texts == nil && raw != nil {
		texts = map[string]string{}
	}
	for _, pair := range raw {
		texts[string(pair[0])] = string(pair[1])
	}
	return texts
}
