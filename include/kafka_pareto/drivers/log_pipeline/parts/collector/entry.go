package main

import (
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

const (
	mostMalformedCharacters = 200
	msPerSecond             = 1e3
)

// Replaces an entry of nginx' log by the map that goes to Kafka: a request, or the beginning of a text that is none. The
// rules are those of the aggregator's LogRecord.java, but that Unicode's characters are counted here, and UTF-16's there.
func readEntry(body pcommon.Value) {
	text := body.AsString()
	fields := body.SetEmptyMap()
	if !readRequest(text, fields) {
		fields.PutStr("malformed", firstCharacters(text, mostMalformedCharacters))
	}
}

// Puts nothing into the map where the text is no request.
func readRequest(text string, fields pcommon.Map) bool {
	line, ok := readObject(text)
	if !ok {
		return false
	}
	requestID, hasRequestID := line["request_id"].(string)
	t0, hasT0 := seconds(line["t0"])
	status, hasStatus := integer(line["status"], 32)
	method, hasMethod := line["method"].(string)
	uri, hasURI := line["uri"].(string)
	bytes, hasBytes := integer(line["bytes"], 64)
	session, hasSession := line["session"].(string)
	request, hasRequest := seconds(line["request_s"])
	if !(hasRequestID && hasT0 && hasStatus && hasMethod && hasURI && hasBytes && hasSession && hasRequest) {
		return false
	}
	fields.PutStr("request_id", requestID)
	fields.PutInt("t0", wholeMs(t0))
	fields.PutInt("status", status)
	fields.PutStr("method", method)
	fields.PutStr("uri", uri)
	fields.PutInt("bytes", bytes)
	fields.PutStr("session", session)
	fields.PutDouble("request_ms", float64(wholeMs(request)))
	return true
}

// Takes keys as they are spelled, unlike a struct's, and numbers as texts. Nothing may follow the object.
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

func seconds(found any) (float64, bool) {
	number, ok := found.(json.Number)
	if !ok {
		return 0, false
	}
	value, err := number.Float64() // one that is out of range is an error
	return value, err == nil
}

func integer(found any, bits int) (int64, bool) {
	number, ok := found.(json.Number)
	if !ok {
		return 0, false
	}
	value, err := strconv.ParseInt(number.String(), 10, bits)
	return value, err == nil
}

// Is exact for nginx' three decimals: of today's seconds a float64 is off by a thousandth of a millisecond at most.
func wholeMs(seconds float64) int64 {
	return int64(math.Round(seconds * msPerSecond))
}

func firstCharacters(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most])
}
