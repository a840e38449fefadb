-- Stands in for the example query of assessment_parts.
select sitting_id as assessment_id, id, name, finished_at as certified_at, proctor_id from sitting_parts;
