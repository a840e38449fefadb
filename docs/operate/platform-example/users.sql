-- Stands in for the example query of users.
select id, full_name as name from people;
