-- Stands in for the example query of assessments.
select id, person_id as user_id, district_id as organization_id, instrument_id as product_id, finished_at as certified_at, proctor_id from sittings;
