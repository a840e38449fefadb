-- Rows of feeds that were left out with --rejects, and wait: a feed goes on although a row is bad.
-- Only imports and axport erase look here. Services of the schema before can serve and provision.
-- compatible-with: 5

-- Each round of a feed stages these rows beside those that have changed. A changed row for the same id replaces the
-- waiting one. A row that can be loaded leaves the table, in the transaction that loads it. Without the table the feed would
-- have to read from the same time again until the row is corrected, which may be for ever.
-- The rows that refer to a bad row are left out because of it, and so wait, too. A row from which neither its id nor its
-- assessment can be read has no place here: nothing would replace it. The feed reads from the same time again for it.
--   type           as in files: user, assessment, part …
--   assessment_id  the assessment that is loaded with this row or not at all
--   user_id        the educator of an assessment, as far as it can be read; erasing the person deletes the row
--   columns        the columns of the query when the row was read; '' for one without a meaning
--   line           the row as CSV, in the form of a JSON string
--   since          when the row was left out; a row that is read again is a new one
-- The table has personal data. The service has no privilege on it, and a backup leaves it out.
create table feed_rejects (
  no bigint generated always as identity primary key,
  feed text not null,
  type text not null,
  id bigint,
  assessment_id bigint,
  user_id bigint,
  columns text[] not null,
  line text not null,
  since timestamptz not null default clock_timestamp(),
  constraint feed_rejects_can_be_replaced check (coalesce(id, assessment_id) is not null)
);
create index feed_rejects_feed on feed_rejects (feed);
