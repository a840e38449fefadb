# Writes five CSV files into the folder export: the rows of the queries beside this script. All are read in one
# transaction: otherwise assessments.csv could name a user who was added after users.csv had been read.
set -e
umask 077
mkdir -p export
{
  echo "begin isolation level repeatable read, read only; set local axport.since = '-infinity';"
  for name in organizations products users assessments assessment_parts; do
    printf 'copy (\n%s\n) to stdout (format csv, header) \\g export/%s.csv\n' \
      "$(sed 's/;$//' "$(dirname "$0")/queries/$name.sql")" "$name"
  done
} | psql service=platform -Xq -v ON_ERROR_STOP=1
