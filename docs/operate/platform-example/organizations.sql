-- Stands in for the example query of organizations.
select id, name from districts;
