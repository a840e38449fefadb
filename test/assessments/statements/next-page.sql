with token as materialized (
  select client_id, scope_digest, organization_ids, product_ids, case
    when cardinality(token.organization_ids) = 0 then 'tenant'
    when cardinality(token.product_ids) = 0 then 'product'
  end as missing,
    (select "export_version"."version" from "export_version") as version, (select "disclosure_state"."is_on" from "disclosure_state") as recording
  from live_tokens as token where digest = $1::bytea
), counted as materialized (select null::bigint as count, null::boolean as has_most
), near as materialized (
  select * from (
  select "export_records"."id" as id, "export_records"."user_name_key" as key, "export_records"."document", "export_records"."user_id" from "export_records"
  where coalesce((select organization_ids || '{}' from token)[width_bucket(organization_id, (select organization_ids || '{}' from token))] = organization_id
    and (select product_ids || '{}' from token)[width_bucket(product_id, (select product_ids || '{}' from token))] = product_id, false)
  ) as walked
  where (select scope_digest = $2 and version = $3::uuid from token)
    and (key, id) < ((select $4::text), (select $5::bigint))
  order by key desc, id desc
  limit (select $6::bigint) offset (select $7::bigint)
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
    from (select * from near limit (select $8::bigint)) as near
    order by key desc, id desc
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
