with token as materialized (
  select client_id, scope_digest, organization_ids, product_ids, (select "export_version"."version" from "export_version") as version, (select "disclosure_state"."is_on" from "disclosure_state") as recording
  from live_tokens where digest = $1::bytea
), counted as materialized (select null::bigint as count, null::boolean as has_most
), near as materialized (
  select * from (
  select "export_records"."id" as id, "export_records"."user_name_key" as key from "export_records"
  where coalesce((select $2::bigint[])[width_bucket(organization_id, (select $2::bigint[]))] = organization_id
    and (select $3::bigint[])[width_bucket(product_id, (select $3::bigint[]))] = product_id, false)
  ) as walked
  where (select scope_digest = $4 and version = $5::uuid from token)
    and (key, id) < ((select $6::text), (select $7::bigint))
  order by key desc, id desc
  limit (select $8::bigint) offset (select $9::bigint)
), page as (
  select
    string_agg(document, ',') as documents,
    count(*) as size,
    (array_agg(key))[count(*)] as last_key,
    (array_agg(id))[count(*)] as last_id,
    array_agg(id) filter (where (select recording from token)) as assessments,
    array_agg(user_id) filter (where (select recording from token)) as people
  from (
    select near.id, key, document, user_id
    from (select * from near limit (select $10::bigint)) as near
    cross join lateral (select "export_records"."document", "export_records"."user_id" from "export_records" where "export_records"."id" = near.id offset 0) as record
    order by key desc, id desc
  ) as shown
)
select token.client_id as "clientId",
  token.scope_digest as "scopeDigest",
  case
    when cardinality(token.organization_ids) = 0 then 'tenant'
    when cardinality(token.product_ids) = 0 then 'product'
  end as "missing",
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
