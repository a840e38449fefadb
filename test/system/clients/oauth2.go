// A client with Go's golang.org/x/oauth2. task.ts describes its environment and its output.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

type refusal struct {
	Kind        string `json:"kind"`
	Status      int    `json:"status"`
	Error       string `json:"error"`
	Description string `json:"description"`
	Challenge   string `json:"challenge,omitempty"`
}

type seen struct {
	Ids      []int64  `json:"ids"`
	Count    int      `json:"count"`
	Lifetime float64  `json:"lifetime"`
	Refused  *refusal `json:"refused,omitempty"`
}

type page struct {
	Data []struct {
		Id int64 `json:"id"`
	} `json:"data"`
	Meta struct {
		Count int `json:"count"`
	} `json:"meta"`
}

var styles = map[string]oauth2.AuthStyle{
	"client_secret_basic": oauth2.AuthStyleInHeader,
	"client_secret_post":  oauth2.AuthStyleInParams,
	"auto-detection":      oauth2.AuthStyleAutoDetect,
}

var baseUrl = os.Getenv("BASE_URL")
var ctx = context.Background()
var result = seen{Ids: []int64{}}

func main() {
	var err error
	if os.Getenv("JOB") == "grant" {
		err = otherGrant()
	} else {
		err = walk()
	}
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) {
		result.Refused = readRefusal("RetrieveError", refused.Response, refused.Body)
	} else if err != nil {
		log.Fatal(err)
	}
	json.NewEncoder(os.Stdout).Encode(result)
}

func otherGrant() error {
	config := oauth2.Config{
		ClientID:     os.Getenv("CLIENT_ID"),
		ClientSecret: os.Getenv("CLIENT_SECRET"),
		Endpoint:     oauth2.Endpoint{TokenURL: baseUrl + "/oauth/token", AuthStyle: styles[os.Getenv("STYLE")]},
	}
	_, err := config.PasswordCredentialsToken(ctx, "ana", "x")
	return err
}

// freshClient gets a token and returns an HTTP client that sends it.
func freshClient() (*http.Client, error) {
	config := clientcredentials.Config{
		ClientID:     os.Getenv("CLIENT_ID"),
		ClientSecret: os.Getenv("CLIENT_SECRET"),
		TokenURL:     baseUrl + "/oauth/token",
		AuthStyle:    styles[os.Getenv("STYLE")],
	}
	source := config.TokenSource(ctx)
	token, err := source.Token()
	if err != nil {
		return nil, err
	}
	result.Lifetime = time.Until(token.Expiry).Seconds()
	return oauth2.NewClient(ctx, source), nil
}

func walk() error {
	client, err := freshClient()
	if err != nil {
		return err
	}
	for offset := 0; offset == 0 || offset < result.Count; {
		url := fmt.Sprintf("%s/api/v1/ax/assessments?page=100&offset=%d&sort=certified_on", baseUrl, offset)
		response, err := client.Get(url)
		if err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			if result.Refused != nil {
				return fmt.Errorf("refused again: %s", response.Status)
			}
			var body json.RawMessage
			if err := json.NewDecoder(response.Body).Decode(&body); err != nil {
				return err
			}
			response.Body.Close()
			result.Refused = readRefusal("Response", response, body)
			if client, err = freshClient(); err != nil {
				return err
			}
			continue
		}
		var got page
		if err := json.NewDecoder(response.Body).Decode(&got); err != nil {
			return err
		}
		response.Body.Close()
		for _, record := range got.Data {
			result.Ids = append(result.Ids, record.Id)
		}
		result.Count = got.Meta.Count
		if offset == 0 && os.Getenv("JOB") == "pause" {
			fmt.Println("paused")
			bufio.NewReader(os.Stdin).ReadString('\n')
		}
		offset += 100
	}
	return nil
}

func readRefusal(kind string, response *http.Response, body []byte) *refusal {
	var said struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	if err := json.Unmarshal(body, &said); err != nil {
		log.Fatal(err)
	}
	challenge := response.Header.Get("WWW-Authenticate")
	return &refusal{kind, response.StatusCode, said.Error, said.Description, challenge}
}
