with token as materialized (
  select client_id, scope_digest, organization_ids, product_ids, case
    when cardinality(token.organization_ids) = 0 then 'tenant'
    when cardinality(token.product_ids) = 0 then 'product'
  end as missing,
    (select "export_version"."version" from "export_version") as version, (select "disclosure_state"."is_on" from "disclosure_state") as recording
  from live_tokens as token where digest = $1::bytea
), scope as materialized (
  select coalesce(sum(records), 0) as records from export_counts where organization_id = any ($2::bigint[]) and product_id = any ($3::bigint[])
), found as not materialized (
  select * from (
  select "export_records"."id" as id, "export_records"."certified_on" as key from "export_records"
  where organization_id = any ($2::bigint[]) and product_id = any ($3::bigint[])
    and "export_records"."certified_on" >= $4::date
    and ("export_records"."product_id" in (
      select "export_products"."product_id" from "export_products" where "export_products"."name_key" like search_folded($5::text))
    or (select ("export_people"."names_key" like search_folded($5::text) or "export_people"."names_key" like search_folded($6::text)) from "export_people" where "export_people"."user_id" = "export_records"."user_id"))
    and (select records from scope) <= $7::bigint
  union all
  select "export_records"."id" as id, "export_records"."certified_on" as key from "export_records"
  where organization_id = any ($2::bigint[]) and product_id = any ($3::bigint[])
    and "export_records"."certified_on" >= $4::date
    and "export_records"."product_id" in (
      select "export_products"."product_id" from "export_products" where "export_products"."name_key" like search_folded($5::text))
    and (select records from scope) > $7::bigint
  union all
  select "export_records"."id" as id, "export_records"."certified_on" as key from "export_people" cross join lateral (
    select * from "export_records" where "export_records"."user_id" = "export_people"."user_id" offset 0
  ) as "export_records"
  where organization_id = any ($2::bigint[]) and product_id = any ($3::bigint[])
    and "export_records"."certified_on" >= $4::date
    and ("export_people"."names_key" like search_folded($5::text) or "export_people"."names_key" like search_folded($6::text))
    and ("export_records"."product_id" in (
      select "export_products"."product_id" from "export_products" where "export_products"."name_key" like search_folded($5::text))) is not true
    and (select records from scope) > $7::bigint
  ) as found offset 0
), few as materialized (
  select id, key from found where (select scope_digest = $8 from token) limit $7::bigint + 1
), counted as materialized (
  select case when count(*) <= $7::bigint then count(*) else (select count(*) from found) end as count, false as has_most
  from few
), near as materialized ((
  select * from few
  where (select count from counted) <= $7::bigint
  order by key asc, id asc
  limit $9::bigint offset (select $10::bigint)
  ) union all (
  select * from (
  select "export_records"."id" as id, "export_records"."certified_on" as key from "export_records"
  where coalesce(organization_id = any ($2::bigint[]) and product_id = any ($3::bigint[])
    and ("export_records"."product_id" in (
      select "export_products"."product_id" from "export_products" where "export_products"."name_key" like search_folded($5::text))
    or (select ("export_people"."names_key" like search_folded($5::text) or "export_people"."names_key" like search_folded($6::text)) from "export_people" where "export_people"."user_id" = "export_records"."user_id")), false)
    and "export_records"."certified_on" >= $4::date
  ) as walked
  where (select count from counted) > $7::bigint
  order by key asc, id asc
  limit $9::bigint offset (select $10::bigint)
  )
), page as (
  select
    string_agg(document, ',') as documents,
    count(*) as size,
    to_char((array_agg(key))[count(*)], 'YYYY-MM-DD') as last_key,
    (array_agg(id))[count(*)] as last_id,
    array_agg(id) filter (where (select recording from token)) as assessments,
    array_agg(user_id) filter (where (select recording from token)) as people
  from (
    select near.id, key, document, user_id
    from (select * from near limit $11::bigint) as near
    cross join lateral (select "export_records"."document", "export_records"."user_id" from "export_records" where "export_records"."id" = near.id offset 0) as record
    order by key asc, id asc
  ) as shown
)
select token.client_id as "clientId",
  token.scope_digest as "scopeDigest",
  token.missing as "missing",
  token.version as "version",
  token.recording as "recording",
  counted.count as "count",
  counted.has_most as "hasMost",
  page.documents as "documents",
  page.size as "size",
  (select count(*) from near) > page.size as "goesOn",
  page.last_key as "lastKey",
  page.last_id as "lastId",
  page.assessments as "assessments",
  page.people as "people"
from token, counted, page
