-- The sets of a scope are stored as they are read.
-- Programs of any schema read and write them as before.
-- compatible-with: 5

-- The functions keep this path; see 0002.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Postgres compresses the long values of a row of more than 2 KB, here those of a scope of more than some 200 ids. Each
-- request reads them: of the 16 µs in which a record was found by its id, 4 were spent on decompressing. A row that fits
-- into a block is left as it is now, with up to some 900 ids. Longer ones are compressed as before.
alter table integrations set (toast_tuple_target = 8160);

-- Written again, the sets are new values: order_scope() makes them (0005). The history sees no change.
update integrations set organization_ids = organization_ids, product_ids = product_ids;
