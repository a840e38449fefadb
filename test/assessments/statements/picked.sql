with token as materialized (
  select * from live_token($1::bytea)
), scope as materialized (
  select organization_ids || '{}' as organization_ids, product_ids || '{}' as product_ids
  from token
), newest as materialized (
  select position, tag from export_changes order by position desc limit 1
), picked as materialized (
  select "export_records"."id" as id, "export_records"."certified_on" as key from "export_records"
  where coalesce((select product_ids from scope)[width_bucket("export_records"."product_id", (select product_ids from scope))] = "export_records"."product_id" and (select organization_ids from scope)[width_bucket("export_records"."organization_id", (select organization_ids from scope))] = "export_records"."organization_id", false) and "export_records"."user_id" = any ($2::bigint[])
), total as materialized (
  select true as is_valid, case when cardinality((select organization_ids from scope)) > 0 and cardinality((select product_ids from scope)) > 0 then (select count(*) from picked) else 0 end as count
), entry as materialized (
  select is_valid, count, 0::bigint as at, $3::bigint as wanted,
    case when is_valid then greatest(0, least($4::bigint, count - $5::bigint)) else 0 end as size
  from total
), part as materialized (
  select
    greatest(0, wanted - at) as after_skip, size - greatest(0, least(at - wanted, size)) as after_size,
    greatest(0, at - wanted - size) as before_skip, greatest(0, least(at - wanted, size)) as before_size
  from entry
), page as materialized (
  select * from (
    select id, key from picked  order by key asc, id asc limit 1000
  ) as after limit (select after_size from part) offset (select after_skip from part))
select token.client_id as "clientId",
  token.scope_digest as "scope",
  cardinality(token.organization_ids) as "organizations",
  cardinality(token.product_ids) as "products",
  is_valid and (entry.size = 0 or greatest(after_skip + after_size, before_skip + before_size) <= 1000) as is_valid,
  count, coalesce(newest.position, 0) as position, coalesce(newest.tag, gen_random_uuid()) as tag,
  (select reltuples::bigint from pg_class where oid = 'export_records'::regclass) as total,
  documents, found.size, last_key, last_id, disclosed.*
from entry cross join part left join newest on true left join token on true cross join (
  select
    coalesce(string_agg((select "export_records"."document" from "export_records" where "export_records"."id" = page.id), ','), '') as documents,
    count(*) as size,
    (array_agg(key))[count(*)] as last_key,
    (array_agg(id))[count(*)] as last_id,
    array_agg(id) as ids
  from page
) as found left join lateral (
  select ids::text, (select array_agg(distinct "export_records"."user_id") from "export_records" where "export_records"."id" = any (ids))::text
  from "disclosure_state" where "disclosure_state"."is_on" and ids is not null
) as disclosed on true
