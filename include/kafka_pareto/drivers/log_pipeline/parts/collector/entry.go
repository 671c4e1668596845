package main

import (
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

const (
	mostMalformedCharacters = 200
	msPerSecond             = 1e3
)

// Replaces a log entry with the map that is sent to Kafka: a request, or the beginning of a malformed text. The rules are those
// of the aggregator's LogRecord.java, except that this counts Unicode characters, and Java counts UTF-16 units.
func readEntry(body pcommon.Value) {
	text := body.AsString()
	if !readRequest(text, body.SetEmptyMap()) {
		body.SetEmptyMap().PutStr("malformed", firstCharacters(text, mostMalformedCharacters))
	}
}

// Returns false if the text is not a request; the map is then incomplete.
func readRequest(text string, fields pcommon.Map) bool {
	line, ok := readObject(text)
	for _, name := range []string{"request_id", "method", "uri", "session"} {
		value, isText := line[name].(string)
		fields.PutStr(name, value)
		ok = ok && isText
	}
	t0, hasT0 := wholeMs(line["t0"])
	requestMs, hasRequest := wholeMs(line["request_s"])
	status, hasStatus := integer(line["status"], 32)
	bytes, hasBytes := integer(line["bytes"], 64)
	fields.PutInt("t0", t0)
	fields.PutDouble("request_ms", float64(requestMs))
	fields.PutInt("status", status)
	fields.PutInt("bytes", bytes)
	return ok && hasT0 && hasRequest && hasStatus && hasBytes
}

// Keys are case-sensitive, unlike those of a struct, and numbers stay texts. Nothing may follow the object.
func readObject(text string) (map[string]any, bool) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var line map[string]any
	if err := decoder.Decode(&line); err != nil {
		return nil, false
	}
	_, err := decoder.Token()
	return line, err == io.EOF
}

// Exact for nginx's three decimals: float64 represents today's seconds to a thousandth of a millisecond.
func wholeMs(seconds any) (int64, bool) {
	number, ok := seconds.(json.Number)
	if !ok {
		return 0, false
	}
	value, err := number.Float64() // an error if out of range
	return int64(math.Round(value * msPerSecond)), err == nil
}

func integer(found any, bits int) (int64, bool) {
	number, ok := found.(json.Number)
	if !ok {
		return 0, false
	}
	value, err := strconv.ParseInt(number.String(), 10, bits)
	return value, err == nil
}

func firstCharacters(text string, most int) string {
	runes := []rune(text)
	return string(runes[:min(len(runes), most)])
}
