# Loads the last line of each id from the outbox (outbox.sql), and deletes the lines that were loaded. Lines that were not
# loaded are tried again. Lines that are committed meanwhile wait for the next run. Never run it twice at a time.
set -e
umask 077
psql service=platform -XqAt -v ON_ERROR_STOP=1 -o outbox.ndjson <<'SQL'
update outbox set taken = true where not taken;
select distinct on (line ->> 'type', line ->> 'id') line from outbox
where taken order by line ->> 'type', line ->> 'id', no desc;
SQL
if [ -s outbox.ndjson ]; then
  axport import outbox.ndjson
  psql service=platform -Xq -v ON_ERROR_STOP=1 -c 'delete from outbox where taken'
fi
