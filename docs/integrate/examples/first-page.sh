#!/bin/sh
# Prints the first two records of 2026. Needs AXPORT_URL, AXPORT_CLIENT_ID and AXPORT_CLIENT_SECRET.
set -eu

TOKEN=$(curl -s "$AXPORT_URL/oauth/token" -d grant_type=client_credentials \
  -d "client_id=$AXPORT_CLIENT_ID" -d "client_secret=$AXPORT_CLIENT_SECRET" |
  sed 's/.*"access_token":"\([^"]*\)".*/\1/')

curl -sg -H "Authorization: Bearer $TOKEN" "$AXPORT_URL/api/v1/ax/assessments?page=2&filter[start_date]=2026-01-01"
