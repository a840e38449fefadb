-- Stands in for the example query of products.
select id, title as name from instruments;
