with token as materialized (
  select * from live_token($1::bytea)
), scope as materialized (
  select organization_ids || '{}' as organization_ids, array(select unnest(product_ids) intersect select unnest($2::bigint[]) order by 1) as product_ids
  from token
), newest as materialized (
  select position, tag from export_changes order by position desc limit 1
), changed as materialized (
  select position, delta, ("export_records"."certified_on", "export_records"."id") <= ((select $3::date), (select $4::bigint)) as is_before
  from export_changes as "export_records"
  where position > least($5::bigint, $6::bigint)
    and position <= (select position from newest)
    and case when delta is null then organization_id is null or coalesce((select organization_ids from scope)[width_bucket("export_records"."organization_id", (select organization_ids from scope))] = "export_records"."organization_id", false) else coalesce((select organization_ids from scope)[width_bucket("export_records"."organization_id", (select organization_ids from scope))] = "export_records"."organization_id" and (select product_ids from scope)[width_bucket("export_records"."product_id", (select product_ids from scope))] = "export_records"."product_id", false) and "export_records"."certified_on" >= $7::date and "export_records"."legacy_record" = $8::boolean end
), facts as materialized (
  select coalesce((select scope_digest from token) = $9, false)
    and not exists (select from changed where delta is null)
    and exists (select from export_changes where position = $10::bigint and tag = $11::uuid)
    and exists (select from export_changes where position = $12::bigint and tag = $13::uuid) as is_held, $14::bigint + coalesce((select sum(delta) from changed where position > $15::bigint), 0)::bigint as count
), place as materialized (
  select is_held, count, $16::bigint + coalesce((select sum(delta) from changed where position > $17::bigint and is_before), 0)::bigint as at, $18::bigint as asked,
    case when is_held then greatest(0, least($19::bigint, count - $20::bigint)) else 0 end as size
  from facts
), part as materialized (
  select
    greatest(0, asked - at) as after_skip, size - greatest(0, least(at - asked, size)) as after_size,
    greatest(0, at - asked - size) as before_skip, greatest(0, least(at - asked, size)) as before_size
  from place
), page as materialized ((
  select * from (
    select "export_records"."id" as id, "export_records"."certified_on" as key from "export_records"
    where coalesce((select organization_ids from scope)[width_bucket("export_records"."organization_id", (select organization_ids from scope))] = "export_records"."organization_id" and (select product_ids from scope)[width_bucket("export_records"."product_id", (select product_ids from scope))] = "export_records"."product_id", false) and "export_records"."certified_on" >= $21::date and "export_records"."legacy_record" = $22::boolean and ("export_records"."certified_on", "export_records"."id") > ((select $23::date), (select $24::bigint))
    order by "export_records"."certified_on" asc, "export_records"."id" asc limit 1000
  ) as after limit (select after_size from part) offset (select after_skip from part))
  union all(
  select * from (
    select "export_records"."id" as id, "export_records"."certified_on" as key from "export_records"
    where coalesce((select organization_ids from scope)[width_bucket("export_records"."organization_id", (select organization_ids from scope))] = "export_records"."organization_id" and (select product_ids from scope)[width_bucket("export_records"."product_id", (select product_ids from scope))] = "export_records"."product_id", false) and "export_records"."certified_on" >= $25::date and "export_records"."legacy_record" = $26::boolean and ("export_records"."certified_on", "export_records"."id") <= ((select $27::date), (select $28::bigint))
    order by "export_records"."certified_on" desc, "export_records"."id" desc limit 1000
  ) as before limit (select before_size from part) offset (select before_skip from part))
)
select 
  token.client_id, token.scope_digest,
  cardinality(token.organization_ids) as organizations, cardinality(token.product_ids) as products,
  is_held and (place.size = 0 or greatest(after_skip + after_size, before_skip + before_size) <= 1000) as is_held,
  count, coalesce(newest.position, 0) as position, coalesce(newest.tag, gen_random_uuid()) as tag,
  null as total,
  found.*
from place cross join part left join newest on true left join token on true cross join (
  select
    coalesce(string_agg((select "export_records"."document" from "export_records" where "export_records"."id" = page.id), ','), '') as documents,
    count(*) as size,
    (array_agg(key))[count(*)] as last_key,
    (array_agg(id))[count(*)] as last_id
  from (select * from page order by key asc, id asc) as page
) as found
