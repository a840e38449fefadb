// Prints the id of every assessment: go run every_page.go. Needs AXPORT_URL, AXPORT_CLIENT_ID, AXPORT_CLIENT_SECRET.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"
)

var base = os.Getenv("AXPORT_URL")

func newToken() string {
	answer, err := http.PostForm(base+"/oauth/token", url.Values{
		"grant_type":    {"client_credentials"},
		"client_id":     {os.Getenv("AXPORT_CLIENT_ID")},
		"client_secret": {os.Getenv("AXPORT_CLIENT_SECRET")},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	var body struct {
		Token string `json:"access_token"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil || body.Token == "" {
		log.Fatal("no token: ", answer.Status)
	}
	return body.Token
}

func main() {
	token, attempt := newToken(), 1
	for offset, count := 0, 1; offset < count; {
		request, _ := http.NewRequest("GET", fmt.Sprintf("%s/api/v1/ax/assessments?page=100&offset=%d", base, offset), nil)
		request.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			answer = &http.Response{Status: err.Error(), StatusCode: 503, Body: http.NoBody}
		}
		var page struct {
			Data []struct{ ID int64 }
			Meta struct{ Count int }
		}
		err = json.NewDecoder(answer.Body).Decode(&page)
		answer.Body.Close()
		switch status := answer.StatusCode; {
		case status == 200 && err == nil && offset > 0 && page.Meta.Count != count:
			log.Fatal("the data changed: start over")
		case status == 200 && err == nil:
			for _, assessment := range page.Data {
				fmt.Println(assessment.ID)
			}
			count, offset, attempt = page.Meta.Count, offset+100, 1
			continue
		case status == 401:
			token = newToken()
		case status == 503 || status == 504:
			seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
			if err != nil {
				seconds = 1 << attempt
			}
			time.Sleep(time.Duration(seconds) * time.Second)
		default:
			log.Fatal(answer.Status, err)
		}
		if attempt++; attempt > 5 {
			log.Fatal(answer.Status)
		}
	}
}
