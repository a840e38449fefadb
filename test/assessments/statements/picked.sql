select token.client_id as "clientId",
  token.scope_digest as "scope",
  cardinality(token.organization_ids) as "organizationCount",
  cardinality(token.product_ids) as "productCount",
  documents as "documents",
  size as "size",
  last_key as "lastKey",
  last_id as "lastId",
  assessment_ids as "assessments",
  user_ids as "people"
from (
  select client_id, scope_digest, organization_ids, product_ids,
    organization_ids || '{}' as organizations, product_ids || '{}' as products
  from live_tokens where digest = $1::bytea offset 0
) as token
cross join lateral (
  select
    string_agg(document, ',') as documents,
    count(*) as size,
    to_char((array_agg(key))[count(*)], 'YYYY-MM-DD') as last_key,
    (array_agg(id))[count(*)] as last_id,
    null as assessment_ids,
    null as user_ids
  from (
    select id, key, (select document from "export_records" where "export_records"."id" = page.id) as document
    from (
      select * from (
    select id, key
    from (select * from (
      select "export_records"."id" as id, "export_records"."certified_on" as key
      from "export_records"
      where coalesce("export_records"."product_id" = any ($2::bigint[]), false)
      and coalesce("export_records"."organization_id" = any ($3::bigint[]), false)
      and "export_records"."user_id" = any ($4::bigint[])) as found offset 0) as picked
    where true
    order by key asc, id asc limit 1000
      ) as near
      limit $5::bigint offset $6::bigint
    ) as page
  ) as page
) as page
