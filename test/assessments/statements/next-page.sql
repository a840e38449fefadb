with token as materialized (
  select * from live_tokens where digest = $1::bytea
), scope as materialized (
  select organization_ids || '{}' as organization_ids, product_ids || '{}' as product_ids
  from token
), newest as materialized (
  select position, tag from export_changes order by position desc limit 1
), changed as materialized (
  select position, delta, ("export_records"."user_name_key", "export_records"."id") >= ((select $2::text), (select $3::bigint)) as is_before
  from export_changes as "export_records"
  where position > least($4::bigint, $5::bigint)
    and position <= (select position from newest)
    and case when delta is null then organization_id is null or coalesce((select organization_ids from scope)[width_bucket("export_records"."organization_id", (select organization_ids from scope))] = "export_records"."organization_id", false) else coalesce((select product_ids from scope)[width_bucket("export_records"."product_id", (select product_ids from scope))] = "export_records"."product_id" and (select organization_ids from scope)[width_bucket("export_records"."organization_id", (select organization_ids from scope))] = "export_records"."organization_id", false) end
), total as materialized (
  select coalesce((select scope_digest from token) = $6, false)
    and not exists (select from changed where delta is null)
    and exists (select from export_changes where position = $7::bigint and tag = $8::uuid)
    and exists (select from export_changes where position = $9::bigint and tag = $10::uuid) as is_valid, $11::bigint + coalesce((select sum(delta) from changed where position > $12::bigint), 0)::bigint as count
), entry as materialized (
  select is_valid, count, $13::bigint + coalesce((select sum(delta) from changed where position > $14::bigint and is_before), 0)::bigint as at, $15::bigint as wanted,
    case when is_valid then greatest(0, least($16::bigint, count - $17::bigint)) else 0 end as size
  from total
), part as materialized (
  select
    greatest(0, wanted - at) as after_skip, size - greatest(0, least(at - wanted, size)) as after_size,
    greatest(0, at - wanted - size) as before_skip, greatest(0, least(at - wanted, size)) as before_size
  from entry
), page as materialized ((
  select * from (
    select "export_records"."id" as id, "export_records"."user_name_key" as key, "export_records"."document" as document, "export_records"."user_id" as user_id from "export_records"
    where coalesce((select product_ids from scope)[width_bucket("export_records"."product_id", (select product_ids from scope))] = "export_records"."product_id" and (select organization_ids from scope)[width_bucket("export_records"."organization_id", (select organization_ids from scope))] = "export_records"."organization_id", false) and ("export_records"."user_name_key", "export_records"."id") < ((select $18::text), (select $19::bigint))
    order by "export_records"."user_name_key" desc, "export_records"."id" desc limit 1000
  ) as after limit (select after_size from part) offset (select after_skip from part))
  union all
(
  select * from (
    select "export_records"."id" as id, "export_records"."user_name_key" as key, "export_records"."document" as document, "export_records"."user_id" as user_id from "export_records"
    where coalesce((select product_ids from scope)[width_bucket("export_records"."product_id", (select product_ids from scope))] = "export_records"."product_id" and (select organization_ids from scope)[width_bucket("export_records"."organization_id", (select organization_ids from scope))] = "export_records"."organization_id", false) and ("export_records"."user_name_key", "export_records"."id") >= ((select $20::text), (select $21::bigint))
    order by "export_records"."user_name_key" asc, "export_records"."id" asc limit 1000
  ) as before limit (select before_size from part) offset (select before_skip from part)))
select token.client_id as "clientId",
  token.scope_digest as "scope",
  cardinality(token.organization_ids) as "organizations",
  cardinality(token.product_ids) as "products",
  is_valid and (entry.size = 0 or greatest(after_skip + after_size, before_skip + before_size) <= 1000) as is_valid,
  count, coalesce(newest.position, 0) as position, coalesce(newest.tag, gen_random_uuid()) as tag,
  null as total,
  documents, found.size, last_key, last_id, disclosed.*
from entry cross join part left join newest on true left join token on true cross join (
  select
    coalesce(string_agg(document, ','), '') as documents,
    count(*) as size,
    (array_agg(key))[count(*)] as last_key,
    (array_agg(id))[count(*)] as last_id,
    array_agg(id) as ids,
    array_agg(user_id) filter (where (select "disclosure_state"."is_on" from "disclosure_state")) as people
  from (select * from page order by key desc, id desc) as page
) as found left join lateral (
  select ids::text, (select array_agg(distinct id) from unnest(people) as id)::text
  from "disclosure_state" where "disclosure_state"."is_on" and ids is not null
) as disclosed on true
