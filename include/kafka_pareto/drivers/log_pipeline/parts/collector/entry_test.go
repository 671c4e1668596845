package main

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

const entryOnOneLine = `{"request_id":"6f1c","t0":1732617183.123,"method":"GET","uri":"/a?b=1&c=<d>","status":200,` +
	`"bytes":512,"request_s":0.007,"upstream_s":"0.006","session":"s-1","user_agent":"x"}`

var request = map[string]any{
	"request_id": "6f1c", "t0": int64(1732617183123), "method": "GET", "uri": "/a?b=1&c=<d>", "status": int64(200),
	"bytes": int64(512), "request_ms": 7.0, "session": "s-1",
}

func read(text string) map[string]any {
	body := pcommon.NewValueStr(text)
	readEntry(body)
	return body.Map().AsRaw()
}

func TestAnEntryOnOneLineOrOnSeveralBecomesTheSameRequest(t *testing.T) {
	onSeveral := strings.ReplaceAll(strings.ReplaceAll(entryOnOneLine, `,"`, ",\n  \""), "}", "\n}")
	for _, text := range []string{entryOnOneLine, onSeveral} {
		if found := read(text); !reflect.DeepEqual(found, request) {
			t.Errorf("%s: %v", text, found)
		}
	}
}

func TestATextThatIsNotARequestIsKeptAsMalformed(t *testing.T) {
	broken := map[string][2]string{
		"a number as text":           {`"status":200`, `"status":"200"`},
		"a status with decimals":     {`"status":200`, `"status":200.0`},
		"a status that is too large": {`"status":200`, `"status":3000000000`},
		"bytes with an exponent":     {`"bytes":512`, `"bytes":5e2`},
		"bytes that are too large":   {`"bytes":512`, `"bytes":9223372036854775808`},
		"a time out of range":        {`"t0":1732617183.123`, `"t0":1e999`},
		"a text as number":           {`"session":"s-1"`, `"session":1`},
		"null":                       {`"method":"GET"`, `"method":null`},
		"a key in another case":      {`"uri"`, `"URI"`},
		"a missing key":              {`"request_s"`, `"request"`},
		"an invalid number":          {`"status":200`, `"status":009`},
		"trailing content":           {`"x"}`, `"x"} {}`},
		"a truncated object":         {`"user_agent":"x"}`, ``},
		"a list":                     {entryOnOneLine, `[1]`},
		"not JSON":                   {entryOnOneLine, `GET /a`},
		"null alone":                 {entryOnOneLine, `null`},
	}
	for name, replaced := range broken {
		text := strings.Replace(entryOnOneLine, replaced[0], replaced[1], 1)
		beginning := string([]rune(text)[:min(len([]rune(text)), 200)])
		if found := read(text); !maps.Equal(found, map[string]any{"malformed": beginning}) {
			t.Errorf("%s: %v", name, found)
		}
	}
}

func TestTheFirst200CharactersOfALongMalformedTextAreKept(t *testing.T) {
	found := read(strings.Repeat("é", 300))
	if found["malformed"] != strings.Repeat("é", 200) {
		t.Errorf("%v", found)
	}
}

func TestMillisecondsAreExact(t *testing.T) {
	for ms := int64(1_732_617_183_000); ms < 1_732_617_283_000; ms++ {
		text := fmt.Sprintf("%d.%03d", ms/1000, ms%1000)
		found := read(strings.Replace(entryOnOneLine, "1732617183.123", text, 1))
		if found["t0"] != ms {
			t.Fatalf("%s: %v", text, found["t0"])
		}
	}
}
