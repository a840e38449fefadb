#!/bin/sh
# A client of curl and sed. task.ts describes its environment and its output.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
body=$folder/body
ids='' count='' lifetime='' refused=''

# Prints a string member of the last body.
text() { sed -n "s/.*\"$1\":\"\\([^\"]*\\)\".*/\\1/p" "$body"; }
# Prints a number member of the last body; of several with one name, the last.
number() { sed -n "s/.*\"$1\":\\([0-9]*\\).*/\\1/p" "$body"; }

# Sends a request and sets status. The body and the header are in files.
send() { status=$(curl --silent --show-error --dump-header "$folder/header" --output "$body" --write-out '%{http_code}' "$@"); }

ask_for() {
  case $STYLE in
    client_secret_basic)
      send --user "$CLIENT_ID:$CLIENT_SECRET" --data "grant_type=$1" "$BASE_URL/oauth/token" ;;
    'client_secret_basic and JSON')
      send --user "$CLIENT_ID:$CLIENT_SECRET" --json "{\"grant_type\":\"$1\"}" "$BASE_URL/oauth/token" ;;
    client_secret_post)
      send --data "grant_type=$1" --data-urlencode "client_id=$CLIENT_ID" \
        --data-urlencode "client_secret=$CLIENT_SECRET" "$BASE_URL/oauth/token" ;;
    JSON)
      send --json "{\"grant_type\":\"$1\",\"client_id\":\"$CLIENT_ID\",\"client_secret\":\"$CLIENT_SECRET\"}" \
        "$BASE_URL/oauth/token" ;;
  esac
}

refuse() {
  challenge=$(tr -d '\r' <"$folder/header" | sed -n 's/^[Ww][Ww][Ww]-[Aa]uthenticate: //p' | sed 's/"/\\"/g')
  refused=",\"refused\":{\"kind\":\"HTTP\",\"status\":$status,\"error\":\"$(text error)\""
  refused="$refused,\"description\":\"$(text error_description)\"${challenge:+,\"challenge\":\"$challenge\"}}"
}

finish() {
  printf '{"ids":[%s]%s%s%s}\n' "$ids" "${count:+,\"count\":$count}" "${lifetime:+,\"lifetime\":$lifetime}" "$refused"
  exit
}

fresh_token() {
  ask_for client_credentials
  if [ "$status" != 200 ]; then refuse; finish; fi
  token=$(text access_token)
  lifetime=$(number expires_in)
}

if [ "$JOB" = grant ]; then
  ask_for password
  refuse
  finish
fi

fresh_token
offset=0
while [ "$offset" = 0 ] || [ "$offset" -lt "$count" ]; do
  send --header "Authorization: Bearer $token" --get --data page=100 --data "offset=$offset" \
    --data sort=certified_on "$BASE_URL/api/v1/ax/assessments"
  if [ "$status" != 200 ]; then
    if [ -n "$refused" ]; then exit 1; fi
    refuse
    fresh_token
    continue
  fi
  # The id is the first member of a record; parts do not begin with an id.
  page=$(grep -o '{"id":[0-9]*' "$body" | tr -dc '0-9\n' | paste -s -d, -)
  ids=${ids:+$ids,}$page
  count=$(number count)
  if [ "$offset" = 0 ] && [ "$JOB" = pause ]; then
    echo paused
    read -r _
  fi
  offset=$((offset + 100))
done
finish
