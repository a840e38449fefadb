select token.client_id as "clientId",
  token.scope_digest as "scopeDigest",
  case
    when cardinality(token.organization_ids) = 0 then 'tenant'
    when cardinality(token.product_ids) = 0 then 'product'
  end as "missing",
  token.version as "version",
  token.recording as "recording",
  counted.count as "count",
  page.documents as "documents",
  page.size as "size",
  page.last_key as "lastKey",
  page.last_id as "lastId",
  page.assessments as "assessments",
  page.people as "people"
from (
  select client_id, scope_digest, organization_ids, product_ids,
    organization_ids || '{}' as organizations, product_ids || '{}' as products,
    (select "export_version"."version" from "export_version") as version,
    (select "disclosure_state"."is_on" from "disclosure_state") as recording
  from live_tokens where digest = $1::bytea offset 0
) as token
cross join lateral (select null::bigint as count) as counted
cross join lateral (
  select
    string_agg(document, ',') as documents,
    count(*) as size,
    (array_agg(key))[count(*)] as last_key,
    (array_agg(id))[count(*)] as last_id,
    null as assessments,
    null as people
  from (
    select id, key, document, user_id
    from (
      select * from (
        select "export_records"."id" as id, "export_records"."user_name_key" as key, "export_records"."document", "export_records"."user_id"
        from "export_records"
        where coalesce(token.products[width_bucket("export_records"."product_id", token.products)] = "export_records"."product_id" and token.organizations[width_bucket("export_records"."organization_id", token.organizations)] = "export_records"."organization_id", false)
      and ("export_records"."user_name_key", "export_records"."id") < ((select $2::text), (select $3::bigint))
        order by "export_records"."user_name_key" desc, "export_records"."id" desc limit 200
      ) as near
      where token.scope_digest = $4 and token.version = $5::uuid and token.recording = false
      limit (select $6::bigint) offset (select $7::bigint)
    ) as page
  ) as page
) as page
