// Reads every assessment from axport, or fails: copy this file and keep it. Go 1.19, no modules.
//
//	go run every_page.go educators.ndjson
//
// writes one record a line, and replaces the file only when everything has been read. AXPORT_URL, AXPORT_CLIENT_ID and
// AXPORT_CLIENT_SECRET come from the environment; so do two numbers of seconds: AXPORT_TIMEOUT for one answer (60), and
// AXPORT_RETRY_FOR for repeating one request (300).
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// ErrDataChanged means that records were added, removed or moved while they were read: start over.
var ErrDataChanged = errors.New("the data changed")

// ErrUnauthorized means that the service answered with 401.
var ErrUnauthorized = errors.New("unauthorized")

// A temporaryFailure may be over later, after a time at the earliest.
type temporaryFailure struct {
	message string
	after   time.Duration
}

func (f temporaryFailure) Error() string { return f.message }

// A Service is an axport and a client of it. HTTP bounds the time of an answer, and follows no redirect.
type Service struct {
	Base, ClientID, ClientSecret string
	RetryFor                     time.Duration
	HTTP                         http.Client
	token                        string
}

// NewService makes a Service whose answers may take `timeout`, and whose requests are repeated for `retryFor`.
func NewService(base, clientID, clientSecret string, timeout, retryFor time.Duration) *Service {
	// A redirect would take the secret or the token to another host.
	asItIs := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client := http.Client{Timeout: timeout, CheckRedirect: asItIs}
	return &Service{strings.TrimRight(base, "/"), clientID, clientSecret, retryFor, client, ""}
}

// A Record is the JSON of a record, and what records are ordered by.
type Record struct {
	JSON        json.RawMessage `json:"-"`
	CertifiedOn string          `json:"certified_on"`
	ID          int64           `json:"id"`
}

// UnmarshalJSON keeps the bytes as they were sent.
func (r *Record) UnmarshalJSON(text []byte) error {
	type fields Record
	r.JSON = append(json.RawMessage{}, text...)
	return json.Unmarshal(text, (*fields)(r))
}

func (r Record) isBefore(other Record) bool {
	return r.CertifiedOn < other.CertifiedOn || r.CertifiedOn == other.CertifiedOn && r.ID < other.ID
}

// EveryRecord visits each record that matches filters such as filter[seids][], in the order of day and id. What it has
// visited is complete when it returns nil.
func (s *Service) EveryRecord(filters url.Values, visit func(Record) error) error {
	count, read, last := -1, 0, Record{}
	changed := func() error { return fmt.Errorf("%w after %d records", ErrDataChanged, read) }
	for count < 0 || read < count {
		// One record early: unless the last one comes again, records were added or removed before it.
		early := 0
		if read > 0 {
			early = 1
		}
		records, total, err := s.page(filters, read-early)
		if err != nil {
			return err
		}
		if count >= 0 && total != count || len(records) < early || early == 1 && records[0].ID != last.ID {
			return changed()
		}
		count = total
		for _, record := range records[early:] {
			if read > 0 && !last.isBefore(record) {
				return changed()
			}
			read, last = read+1, record
			if err := visit(record); err != nil {
				return err
			}
		}
		if read > count || read < count && len(records) == early {
			return changed()
		}
	}
	return nil
}

// page returns the records of one page, and the number of all. A token that was refused is renewed once.
func (s *Service) page(filters url.Values, offset int) ([]Record, int, error) {
	query := url.Values{"page": {"100"}, "sort": {"certified_on"}, "order": {"ASC"}, "offset": {strconv.Itoa(offset)}}
	for name, values := range filters {
		query[name] = values
	}
	var page struct {
		Data []Record
		Meta struct{ Count int }
	}
	for isRenewed := false; ; isRenewed = true {
		if s.token == "" {
			if err := s.newToken(); err != nil {
				return nil, 0, err
			}
		}
		err := s.answer("GET", "/api/v1/ax/assessments?"+query.Encode(), nil, &page)
		if errors.Is(err, ErrUnauthorized) && !isRenewed {
			s.token = ""
			continue
		}
		return page.Data, page.Meta.Count, err
	}
}

func (s *Service) newToken() error {
	form := url.Values{
		"grant_type": {"client_credentials"}, "client_id": {s.ClientID}, "client_secret": {s.ClientSecret},
	}
	var body struct {
		Token string `json:"access_token"`
	}
	err := s.answer("POST", "/oauth/token", form, &body)
	s.token = body.Token
	return err
}

// answer reads the JSON of the answer with status 200. It repeats the request after temporary failures.
func (s *Service) answer(method, path string, form url.Values, into any) error {
	giveUp := time.Now().Add(s.RetryFor)
	growing := time.Second / 2
	for {
		err := s.send(method, path, form, into)
		var failure temporaryFailure
		if !errors.As(err, &failure) {
			return err
		}
		// Longer each time, not the same for all clients, and at least as long as the service said.
		pause := time.Duration(float64(growing) * (0.5 + rand.Float64()/2))
		if failure.after > pause {
			pause = failure.after
		}
		if time.Now().Add(pause).After(giveUp) {
			return fmt.Errorf("%s; given up", failure.message)
		}
		log.Printf("%s; again in %.1f s", failure.message, pause.Seconds())
		time.Sleep(pause)
		if growing *= 2; growing > 30*time.Second {
			growing = 30 * time.Second
		}
	}
}

func (s *Service) send(method, path string, form url.Values, into any) error {
	request, err := http.NewRequest(method, s.Base+path, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	} else {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	what := fmt.Sprintf("%s %s%s", method, s.Base, request.URL.Path)
	answer, err := s.HTTP.Do(request)
	if err != nil {
		return temporaryFailure{message: fmt.Sprintf("%s: %v", what, errors.Unwrap(err))}
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode == 200 {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return temporaryFailure{message: fmt.Sprintf("%s: %v", what, err)}
	}
	if len(text) > 500 {
		text = text[:500]
	}
	message := fmt.Sprintf("%s: %d %s", what, answer.StatusCode, strings.TrimSpace(string(text)))
	// A bare 400 answers bytes that were no request: not those of this program, which are one.
	if answer.StatusCode == 400 && len(text) == 0 && answer.Header.Get("X-Request-Id") == "" {
		return temporaryFailure{message: message}
	}
	switch answer.StatusCode {
	case 200:
		return nil
	case 401:
		return fmt.Errorf("%w: %s", ErrUnauthorized, message)
	case 408, 429, 500, 502, 503, 504:
		return temporaryFailure{message, until(answer.Header.Get("Retry-After"))}
	default:
		return errors.New(message)
	}
}

// until returns the time until a Retry-After, which is a number of seconds or a date; 0 if it is neither.
func until(retryAfter string) time.Duration {
	if seconds, err := strconv.ParseUint(retryAfter, 10, 32); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(retryAfter); err == nil {
		return time.Until(date)
	}
	return 0
}

// Save writes every record to a file, or leaves the file as it is. It returns the number of records.
func Save(s *Service, path string) (written int, err error) {
	const starts = 4
	for start := 0; start < starts; start++ {
		if written, err = s.saveOnce(path); !errors.Is(err, ErrDataChanged) {
			return written, err
		}
		log.Printf("%v; starting over", err)
	}
	return 0, fmt.Errorf("the data changed during each of %d reads", starts)
}

func (s *Service) saveOnce(path string) (written int, err error) {
	partial := path + ".partial"
	// Personal data: readable for the owner alone.
	file, err := os.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	defer os.Remove(partial)
	defer file.Close()
	lines := bufio.NewWriter(file)
	err = s.EveryRecord(nil, func(record Record) error {
		written++
		_, err := fmt.Fprintf(lines, "%s\n", record.JSON)
		return err
	})
	if err == nil && written == 0 {
		err = errors.New("the service has no records for this client; the file is left as it is")
	}
	for _, finish := range []func() error{lines.Flush, file.Sync, file.Close} {
		if err == nil {
			err = finish()
		}
	}
	if err != nil {
		return 0, err
	}
	return written, os.Rename(partial, path)
}

func seconds(name string, preset float64) time.Duration {
	if number, err := strconv.ParseFloat(os.Getenv(name), 64); err == nil {
		preset = number
	}
	return time.Duration(preset * float64(time.Second))
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: every_page FILE")
	}
	rand.Seed(time.Now().UnixNano())
	service := NewService(os.Getenv("AXPORT_URL"), os.Getenv("AXPORT_CLIENT_ID"), os.Getenv("AXPORT_CLIENT_SECRET"),
		seconds("AXPORT_TIMEOUT", 60), seconds("AXPORT_RETRY_FOR", 300))
	written, err := Save(service, os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	log.Print(written, " records")
}
