select token.client_id as "clientId",
  token.scope_digest as "scope",
  cardinality(token.organization_ids) as "organizationCount",
  cardinality(token.product_ids) as "productCount",
  documents as "documents",
  size as "size",
  last_key as "lastKey",
  last_id as "lastId",
  assessment_ids as "assessments",
  user_ids as "people",
  is_correctable as "isCorrectable",
  counted as "counted",
  moved as "moved",
  newest.position as "position",
  newest.tag as "tag"
from (
  select client_id, scope_digest, organization_ids, product_ids,
    organization_ids || '{}' as organizations, product_ids || '{}' as products
  from live_tokens where digest = $1::bytea offset 0
) as token
cross join lateral (
  select token.scope_digest = $2
      and (select is_on from "disclosure_state") = false
      and exists (select from "export_changes" where position = $3::bigint and tag = $4::uuid)
      and exists (select from "export_changes" where position = $5::bigint and tag = $6::uuid)
      and not coalesce(bool_or(delta is null), false) as is_correctable,
    coalesce(sum(delta) filter (where position > $3::bigint), 0) as counted,
    coalesce(sum(delta) filter (where position > $5::bigint
      and ("export_changes"."user_name_key", "export_changes"."id") >= ((select $7::text), (select $8::bigint))), 0) as moved
  from "export_changes"
  where position > least($3::bigint, $5::bigint) and case
    when delta is null then organization_id is null
      or coalesce(token.organizations[width_bucket("export_changes"."organization_id", token.organizations)] = "export_changes"."organization_id", false)
    when delta = 0 then false
    else coalesce(token.products[width_bucket("export_changes"."product_id", token.products)] = "export_changes"."product_id"
      and token.organizations[width_bucket("export_changes"."organization_id", token.organizations)] = "export_changes"."organization_id", false) end
) as since
left join (select position, tag from "export_changes" order by position desc limit 1) as newest on true
cross join lateral (
  select
    string_agg(document, ',') as documents,
    count(*) as size,
    (array_agg(key))[count(*)] as last_key,
    (array_agg(id))[count(*)] as last_id,
    null as assessment_ids,
    null as user_ids
  from (
    select id, key, document, user_id
    from (
      select * from (
    select "export_records"."id" as id, "export_records"."user_name_key" as key, "export_records"."document", "export_records"."user_id"
    from "export_records"
    where coalesce(token.products[width_bucket("export_records"."product_id", token.products)] = "export_records"."product_id"
      and token.organizations[width_bucket("export_records"."organization_id", token.organizations)] = "export_records"."organization_id", false)
      and ("export_records"."user_name_key", "export_records"."id") < ((select $7::text), (select $8::bigint))
    order by "export_records"."user_name_key" desc, "export_records"."id" desc limit 1000
      ) as near where is_correctable and $9::bigint - moved >= 0
      limit $10::bigint offset greatest(0, $9::bigint - moved)
    ) as page
  ) as page
) as page
